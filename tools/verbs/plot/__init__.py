"""Figures of what `lockstep ns3 run --out` wrote: `lockstep plot`."""
