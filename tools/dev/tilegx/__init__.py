"""What tools/dev/tilegx/estimate is made of."""
