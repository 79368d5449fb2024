"""A polling publisher, as tutorials write it."""
