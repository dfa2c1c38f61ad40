# Checks of the repository that run as ctest entries: tidy, and the installed package.
