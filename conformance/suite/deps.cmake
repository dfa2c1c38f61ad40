# The suite replays scenarios; its page also runs the scripts and shows the requirements.
set(LIBS lockstep_capture lockstep_output lockstep_process lockstep_replay lockstep_requirements
  lockstep_script)
set(PLAIN ALL)
