"""Copies of the template: in other words, with other extras, and updated later."""
