"""What a worker does, one module per kind of job: a function of the worker's context and the lease that it keeps."""
