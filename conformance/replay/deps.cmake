# Replay reads captures and writes whole files.
set(LIBS lockstep_capture lockstep_output)
