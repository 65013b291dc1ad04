"""What lasts: schema, sessions, checkpoints, backups, and checks that the record agrees with itself."""
