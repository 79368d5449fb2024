"""`pipeline ladder`: what each pattern buys, step by step, under the same faults."""
