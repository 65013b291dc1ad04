"""Games written for batches: millions of moves a second."""
