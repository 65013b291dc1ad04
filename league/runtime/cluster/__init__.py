"""The runtime's parts as Ray actors. Ray is imported here and nowhere else."""
