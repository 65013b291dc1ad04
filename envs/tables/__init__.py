"""Single environments as batches: one game a table, its spaces encoded, here or in a process of its own."""
