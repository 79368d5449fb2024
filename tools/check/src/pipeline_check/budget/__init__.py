"""Budgets: times and retentions that must fit each other, printed as inequalities with numbers."""
