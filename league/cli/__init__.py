"""The command line: what a person types, and how the answer is printed. Nothing is decided here."""


def main() -> None:
    """Runs the command line."""
    from league.cli.app import main as run  # here: `import league.cli` alone need not build the commands

    run()
