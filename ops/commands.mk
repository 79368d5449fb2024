# What `make` can do because ops/ is here.

.PHONY: demo up down status

demo: venv ## the whole way of 5,000 orders, from nothing to a verdict
	@$(BIN)/pipeline demo

up: venv ## start the embedded stack and leave it running
	@$(BIN)/pipeline up

down: venv ## stop it
	@$(BIN)/pipeline down

status: venv ## show how each part is
	@$(BIN)/pipeline status
