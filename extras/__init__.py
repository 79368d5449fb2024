"""What a copy takes along on request: each folder is an extra, its extra.toml what it adds."""
