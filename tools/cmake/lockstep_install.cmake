# What an installed Lockstep offers: find_package(lockstep) and pkg-config.
