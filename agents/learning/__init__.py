"""The learner: one player's network, optimiser and reference networks, whatever its algorithm."""
