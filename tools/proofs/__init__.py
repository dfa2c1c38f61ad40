"""Measurements of speed, and long proofs of correctness and range, which are run by name."""
