# What `make` can do because the lab is here.

.PHONY: bench prove

bench: venv ## measure speed and cost
	@$(BIN)/pipeline bench

PROOFS := $(wildcard tools/lab/tests/integration/test_dedup_matrix.py tools/lab/tests/integration/test_dedup_machine.py \
  tools/lab/tests/e2e/test_ladder.py tools/lab/tests/e2e/test_prove.py tests/integration/test_extras.py tests/copy)

prove: venv ## every cell of ladder and dedup matrix, every kind of copy, ten times as many stories as `make test`
	@PROVE=1 $(BIN)/pytest $(PROOFS)
