"""The queue: shards and leases, container runtimes, recovery."""
