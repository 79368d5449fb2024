# What `make` can do because the lab is here.

PARTS := copies whole-copies upgrade dedup ladder peers clients refusals letters trace kafka debezium lake sealed repair cluster \
  stages compose faults size bench

.PHONY: bench prove $(addprefix prove-,$(PARTS))

bench: venv ## measure speed and cost
	@$(BIN)/pipeline bench

# What is too slow for `make test`. Each part ends with its time.
PROVE := PROVE=1 $(BIN)/pytest --durations=5

prove: $(addprefix prove-,$(PARTS)) ## everything below; `make -k prove` goes on after a failure

prove-copies: venv ## every kind of copy
	@$(PROVE) --ignore=tests/copy/test_whole.py tests/copy tests/integration/test_extras.py

prove-whole-copies: venv ## the whole tests and the demo of three copies, each with its log in .run; each takes half an hour, with all extras 40 minutes
	@$(PROVE) tests/copy/test_whole.py

prove-upgrade: venv ## data of version 0.1, in a copy with and without the extra that wrote some of it
	@$(PROVE) tests/integration/test_upgrade.py

prove-dedup: venv ## every cell of the dedup matrix, and ten times as many stories
	@$(PROVE) $(addprefix tools/lab/tests/integration/test_dedup_,matrix.py alone.py machine.py)

prove-ladder: venv ## every cell of the ladder
	@$(PROVE) tools/lab/tests/e2e/test_ladder.py

prove-peers: venv ## a few hundred orders through other outboxes, and a kill of each relay (messagekit needs Python 3.12)
	@$(PROVE) tools/lab/tests/e2e/test_peers.py

prove-clients: venv ## producers in Python, Java and Connect that lose acknowledgements; the rules of Go's and Node's clients
	@$(PROVE) tools/lab/tests/e2e/test_prove.py
	cd tools/check && PROVE=1 $(CURDIR)/$(BIN)/pytest tests/clients/test_go.py tests/clients/test_javascript.py

prove-refusals: venv ## every change of the database that refuses messages, under load
	@$(PROVE) tests/e2e/test_refusals.py

prove-letters: venv ## 1,000 dead letters of twelve reasons, worked off by a replay that is killed again and again, and what reconciliation says of one; keys that wait, under kills
	@$(PROVE) $(addprefix tests/e2e/test_,letters_trial.py parking.py replay.py)

prove-trace: venv ## one order among a million, through every hop, in two seconds; spans without a collector
	@$(PROVE) tests/e2e/test_trace.py tests/e2e/test_spans.py

prove-kafka: venv ## every dangerous moment of Kafka, and storms of rebalances
	@$(PROVE) tests/e2e/test_kafka.py tests/e2e/test_storm.py

prove-debezium: venv ## every dangerous moment of Debezium, each with its way back; alerts that fire for real (needs prometheus)
	@$(PROVE) tools/lab/tests/e2e/test_moments.py tests/e2e/test_resend.py tests/e2e/test_observe.py

prove-lake: venv ## every dangerous moment of the lake, and what reconciliation says of it
	@$(PROVE) tests/spark tests/e2e/test_stores.py tests/e2e/test_reconcile.py
	@$(PROVE) tools/lab/tests/integration/test_bench_reconcile.py

prove-sealed: venv ## what runs say that judge what came since, a hundred of them under load; takes 50 minutes
	@$(PROVE) tests/e2e/test_sealed.py

prove-repair: venv ## every act of repair, and a repair that is killed at each step
	@$(PROVE) tests/e2e/test_repair.py

prove-cluster: venv ## three brokers, two workers and a lake in a bucket, secured: whoever may die, dies (needs go)
	@$(PROVE) tests/cluster

prove-stages: venv ## where the time of a reconciliation on a cluster goes; STAGES_ORDERS=5000000 takes most of an hour
	@$(PROVE) -s tools/lab/tests/e2e/test_stages.py

prove-compose: venv ## the same on containers, with and without logins (needs Docker, and 9 GB of memory)
	@$(PROVE) tests/compose/test_cluster.py

prove-faults: venv ## a slice of the matrix, and ten published defects, built in again one at a time
	@$(PROVE) tools/lab/tests/e2e/test_faults.py tools/lab/tests/e2e/test_faults_defects.py

prove-size: venv ## the model of `pipeline size` beside two loads
	@$(PROVE) tools/lab/tests/e2e/test_size.py

prove-bench: venv ## every ratio of the bench beside those that were measured before
	@$(BIN)/pipeline bench --against tools/lab/bench-baseline.json
