"""`pipeline faults`: every fault at every point of the path, and a checker that trusts nobody."""
