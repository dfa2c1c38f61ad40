"""What shows how fast, how right and how far the rest is: measured, and run by name."""
