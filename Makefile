# `make run` and `make test` set everything up by themselves, in .venv, from constraints.txt.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := .venv-peers

.PHONY: run test test-browser test-postgres conformance client fuzz lint format bench bench-api bench-web \
	bench-pool bench-strength faults soak clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "League needs Python 3.11 or newer; try make PYTHON=python3.11"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,exported,games,postgres,tensorboard]'
	touch $(READY)

run: $(READY)
	$(BIN)/league run configs/quickstart.yaml

# In two parts, of which the second runs whatever becomes of the first: see tests/suite.py.
test: $(READY)
	$(BIN)/python -m tests.suite

# The whole suite with a real PostgreSQL in the place of SQLite.
test-postgres: $(READY)
	LEAGUE_TEST_DATABASE=postgresql $(BIN)/python -m tests.suite

test-browser: $(READY)
	LEAGUE_SCREENSHOTS=docs/screenshots $(BIN)/pytest tests/browser

conformance: $(READY)
	$(BIN)/league games report docs/games.md

client: $(READY)
	$(BIN)/python -m league.client.writer

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/detect-secrets-hook --baseline .secrets.baseline $$(git ls-files ':!tests/league/schemas')
	$(BIN)/python -m tests.audit

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The others that League is measured against bring gigabytes of their own, so they get a .venv of their own.
$(PEERS)/.ready: tests/bench/peers.txt
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check -r tests/bench/peers.txt
	touch $(PEERS)/.ready

bench: $(READY) $(PEERS)/.ready
	$(BIN)/python -m tests.bench --out docs/benchmarks.md

bench-api: $(READY)
	$(BIN)/python -m tests.load --out docs/service-speed.md

bench-web: $(READY)
	$(BIN)/python -m tests.web_load --out docs/page-speed.md

# A league of ten thousand players: how soon it plays, what its coordinator holds.
bench-pool: $(READY)
	$(BIN)/python -m tests.large_league

bench-strength: $(READY) $(PEERS)/.ready
	$(BIN)/python -m tests.strength --out docs/strength.md

# Every fault twenty times: two hours. An hour of any of them.
faults: $(READY)
	$(BIN)/python -m tests.faults --out docs/reliability.md

soak: $(READY)
	$(BIN)/python -m tests.faults --soak 60 --out docs/soak.md

clean:
	rm -rf $(VENV) $(PEERS) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
