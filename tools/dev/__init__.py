"""Tools for work on the project itself."""
