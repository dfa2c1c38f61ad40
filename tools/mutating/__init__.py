"""The parts of tools/mutations, one subject a file."""
