"""`lockstep plot`: figures of what `lockstep ns3 run --out` wrote."""
