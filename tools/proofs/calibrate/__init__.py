"""Measures how often replay and lint accuse wrongly, and how many planted violations they find."""
