"""The verbs of the program lockstep, a folder each."""
