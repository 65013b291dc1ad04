"""`python -m league.cli`: the command line."""

from league.cli import main

if __name__ == "__main__":
    main()
