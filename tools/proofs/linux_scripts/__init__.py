"""Scripts that Linux itself has answered, run on our core in profile linux."""
