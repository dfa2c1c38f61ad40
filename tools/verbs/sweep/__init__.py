# The Python part of `lockstep sweep`: cells of a described sweep, on processes or on a cluster.
