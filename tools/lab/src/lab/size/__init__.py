"""`pipeline size`: what a load takes, worked out from measured constants and a queueing model."""
