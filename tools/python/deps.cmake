# The module `lockstep` of Python. What of it needs no Python is a library like any other's; the
# module proper is built where Python's headers and nanobind are found.
set(LIBS lockstep_calls lockstep_process lockstep_sim lockstep_sim_apps lockstep_sim_nic
  lockstep_sockets lockstep_text lockstep_world_file)
include(python)
cmake_language(DEFER CALL lockstep_python_module)
