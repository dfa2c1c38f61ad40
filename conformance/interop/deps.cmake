# Two devices on the simulator's bus, under its faults and its referee; captures of what they send.
set(LIBS lockstep_capture lockstep_devices lockstep_process lockstep_sim lockstep_text)
