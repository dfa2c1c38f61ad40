# Exit codes; lockstep_tool() adds the libraries of all verbs.
set(LIBS lockstep_options lockstep_process lockstep_text)
