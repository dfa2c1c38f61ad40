# The Python part of `lockstep sweep`: runs the cells of a sweep on processes or on a cluster.
