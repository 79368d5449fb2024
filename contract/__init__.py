"""What every room agrees on, and each copy replaces: the words, the names, the events."""
