"""Programs on this machine: the web server, the tournament process, the benchmark, the check-up."""
