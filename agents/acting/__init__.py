"""Playing thousands of games at once: seats, policies, one forward a policy, fragments and results out."""
