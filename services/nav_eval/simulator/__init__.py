"""The simulator: motion, sensors and pictures."""
