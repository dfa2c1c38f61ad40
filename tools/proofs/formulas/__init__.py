"""Congestion control against the formulas of its RFCs and of the literature."""
