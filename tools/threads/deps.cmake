# The pairs of stacks that the benchmarks are made of.
set(LIBS lockstep_benchmark)
