"""Readers: files of many formats become the same thing, settings that know their line."""
