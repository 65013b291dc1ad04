"""A pool's players at somebody's service: act for an observation, play a person, draw the board."""
