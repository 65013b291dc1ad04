"""How players learn: the `Algorithm` contract, one file an algorithm, and what their losses are made of."""
