# Exit codes; all verbs are added by lockstep_tool().
set(LIBS lockstep_process)
