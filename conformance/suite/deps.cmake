# The suite replays scenarios.
set(LIBS lockstep_replay)
