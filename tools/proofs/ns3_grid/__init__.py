"""Our TCP and ns-3's over one grid, both compared with formulas: `tools/evidence ns3-grid`."""
