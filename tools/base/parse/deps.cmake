# Installed with the libraries that read options, so it links the core and nothing else.
set(CORE_ALONE ON)
