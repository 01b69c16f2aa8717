"""What a worker does, one module per kind of job: a function of the workshop and the lease it holds."""
