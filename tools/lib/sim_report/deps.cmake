# The results of a simulated run: totals, the report as JSON, and tables of time series.
set(LIBS lockstep_output lockstep_sim lockstep_text)
set(TEST_LIBS lockstep_sim_apps lockstep_world_file)
set(OPTIMIZED recorder.cpp rtt_samples.cpp)
