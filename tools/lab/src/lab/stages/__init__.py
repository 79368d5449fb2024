"""What a reconciliation on a cluster spends its time with, and what more workers would leave."""
