"""One run's pool in memory: the manager, what it records and orders, its ratings. No Ray, SQL or clock."""
