ARG PLATFORM=7.6.0
FROM confluentinc/cp-kafka-connect:${PLATFORM}
RUN confluent-hub install --no-prompt debezium/debezium-connector-postgresql:2.5.4
