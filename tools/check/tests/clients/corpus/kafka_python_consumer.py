from kafka import KafkaConsumer

consumer = KafkaConsumer("orders", group_id="orders", enable_auto_commit=False, auto_offset_reset="earliest", isolation_level="read_committed")
