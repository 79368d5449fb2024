"""`pipeline dead-letters list` and `show`: what was refused, and what is wrong with it."""
