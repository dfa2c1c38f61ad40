"""The rules of tools/tidy, one subject a file."""
