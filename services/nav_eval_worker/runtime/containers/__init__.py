"""What the Docker runtime is made of: settings, cells, images, volumes, and a running pair."""
