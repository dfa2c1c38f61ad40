# Exit codes; lockstep_tool() adds the libraries of all verbs.
set(LIBS lockstep_process lockstep_text)
