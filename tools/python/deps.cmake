# The module `lockstep` of Python. What of it needs no Python is a library like any other's; the
# module proper is built where Python's headers and nanobind are found.
set(LIBS lockstep_http_world lockstep_world lockstep_cards lockstep_sockets)
include(python)
cmake_language(DEFER CALL lockstep_python_module)
