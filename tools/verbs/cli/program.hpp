// The command line: parses it, runs the chosen verb, and turns every error into one line.
#pragma once

namespace lockstep::tools {

/// Runs the program with the arguments of main() and returns its exit code (see ExitCode). Prints
/// each error to stderr in one line; wrong usage is ExitCode::bad_input.
int run_program(int count, const char* const* arguments);

}  // namespace lockstep::tools
