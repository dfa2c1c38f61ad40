# The model of mPIPE, and hosts of the simulator that have it.
set(LIBS lockstep_mpipe lockstep_pair lockstep_sim)
set(TEST_LIBS lockstep_hw)
