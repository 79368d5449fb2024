"""The proof: acknowledgements are lost on the way back from a real broker, and the topic is counted and looked at."""
