"""Networks by their specs: kinds, heads, memories, critics, and their weights as bytes."""
