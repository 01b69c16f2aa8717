"""What others hear about: the outbox of events, webhooks, and their deliveries by HTTP and mail."""
