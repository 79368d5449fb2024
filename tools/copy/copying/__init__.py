"""Turn a plain copy of the template into one in the user's own words."""
