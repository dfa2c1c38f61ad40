# Scripts run on sockets over a stack, or on a device, with the simulator's referee, parse values
# with units, read captures as replay does, write captures and whole files, and cite requirements.
set(LIBS lockstep_capture lockstep_devices lockstep_output lockstep_process lockstep_replay
  lockstep_requirements lockstep_sim lockstep_sockets lockstep_text)
set(PLAIN capture_writer.cpp explain.cpp from_capture.cpp report.cpp)
