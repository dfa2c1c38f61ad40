"""The rules of tools/tidy, one subject per file."""
