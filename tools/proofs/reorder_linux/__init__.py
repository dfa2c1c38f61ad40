"""The sixth of the reorder matrix with Linux beside our TCP."""
