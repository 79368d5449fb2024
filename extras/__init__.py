"""What a copy takes along on request: each folder is one extra, and its extra.toml says what it adds."""
