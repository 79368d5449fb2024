"""Tests of single parts against the real thing that they talk to."""
