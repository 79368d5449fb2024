"""Tests without a process, under five seconds in all."""
