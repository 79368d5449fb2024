"""Three brokers and two Connect workers, secured: which of them may die, and what that costs."""
