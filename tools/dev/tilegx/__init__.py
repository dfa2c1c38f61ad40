"""The parts of tools/dev/tilegx/estimate."""
