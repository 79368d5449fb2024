"""How many records of a real topic are there twice, and which pattern would have removed them."""
