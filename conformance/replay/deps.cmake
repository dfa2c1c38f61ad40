# Replay reads captures.
set(LIBS lockstep_capture)
