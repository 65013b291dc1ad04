"""What can be found out about a pool or a game: standings, tournaments, analysis, simulation, teachers."""
