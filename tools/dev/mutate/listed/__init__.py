"""The parts of tools/mutants --listed, one subject a file."""
