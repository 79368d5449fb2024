"""messagekit in an environment of its own: nothing else of ours is imported there."""
