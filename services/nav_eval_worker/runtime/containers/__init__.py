"""What the Docker runtime is made of: the engine, what it is told, images, volumes, and a running pair."""
