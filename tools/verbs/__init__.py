"""The verbs of the program lockstep, one folder per verb."""
