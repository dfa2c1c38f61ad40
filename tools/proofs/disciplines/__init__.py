"""Our queue disciplines beside those of ns-3, on one dumbbell."""
