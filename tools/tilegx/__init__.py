"""What tools/tilegx/estimate is made of."""
