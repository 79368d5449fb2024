"""Tests of the whole path, with faults."""
