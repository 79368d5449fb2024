"""The rules of each client, as its own source has them: settings in, what becomes effective out."""
