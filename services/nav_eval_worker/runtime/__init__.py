"""What runs an agent beside a simulator: local processes, containers, pods. The contract is in `base`."""
