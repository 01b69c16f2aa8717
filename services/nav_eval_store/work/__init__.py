"""What workers do: jobs, the leases on them, whose turn it is, and what is recovered when a worker is lost."""
