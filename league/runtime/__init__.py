"""What makes a run go: coordinator, players of games, learners, and the supervisor that keeps them alive."""
