"""Compares congestion control with the formulas of its RFCs and of the literature."""
