"""The parts of tools/mutants --listed, one subject per file."""
