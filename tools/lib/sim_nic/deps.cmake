# The model of mPIPE, and hosts of the simulator with it.
set(LIBS lockstep_mpipe lockstep_pair lockstep_sim)
set(TEST_LIBS lockstep_hw)
set(APART ON)
