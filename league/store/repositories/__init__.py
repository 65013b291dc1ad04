"""SQL by subject, one repository a file. Rows never leave; records of `league.pool.records` do."""
