# The suite replays scenarios; its page also runs the scripts and shows the requirements.
set(LIBS lockstep_replay lockstep_script lockstep_coverage)
