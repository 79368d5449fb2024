"""Budgets: times and retentions that must fit each other, as inequalities printed with their numbers."""
