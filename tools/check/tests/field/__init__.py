"""Configurations of public repositories, by reference."""
