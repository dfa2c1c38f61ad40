"""How often replay and lint accuse wrongly, and how much of what is planted they find."""
