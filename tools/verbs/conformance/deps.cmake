# The suite, its ports and its progress bar.
set(LIBS lockstep_output lockstep_process lockstep_replay lockstep_sim_nic lockstep_suite)
