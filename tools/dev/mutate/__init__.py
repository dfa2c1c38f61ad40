"""The parts of tools/mutants: branches under a citation, broken one at a time at run time."""
