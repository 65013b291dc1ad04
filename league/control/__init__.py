"""What people and pages ask of runs: read them, steer them, be let in, be told of events."""
