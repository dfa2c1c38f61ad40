"""Our TCP beside ns-3's over one grid, and both beside the formulas: `tools/evidence ns3-grid`."""
