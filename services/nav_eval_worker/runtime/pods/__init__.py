"""What the Kubernetes runtime is made of: settings, the cluster, a registry, pods, and a running pair."""
