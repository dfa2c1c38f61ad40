// The command line: parses it, runs the chosen verb, and turns every error into one line.
#pragma once

namespace lockstep::tools {

/// Runs the program and returns its exit code (see ExitCode). Prints errors to stderr, one line
/// each; wrong usage is ExitCode::bad_input. Arguments as main() gets them.
int run_program(int count, const char* const* arguments);

}  // namespace lockstep::tools
