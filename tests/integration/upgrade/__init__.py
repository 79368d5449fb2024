"""What version 0.1 left behind: two databases, the topics' records, and a lake; and its upgrade."""
