"""The rules: what is found in producers, consumers, topics, brokers and workers, and the fixes."""
