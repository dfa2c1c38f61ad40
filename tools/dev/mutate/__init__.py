"""The parts of tools/mutants, which breaks branches below citations one at a time at run time."""
