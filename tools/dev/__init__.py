"""What those use who work on the project itself."""
