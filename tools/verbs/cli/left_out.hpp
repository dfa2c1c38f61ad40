// Verbs that the build has left out of the program (LOCKSTEP_VERBS).
#pragma once

namespace CLI {
class App;
}

namespace lockstep::tools {

/// Adds a verb that --help does not list. Chosen, it throws Failure (environment), which says how
/// to build the program with it. `verb` must outlive the parse.
void leave_out(CLI::App& app, const char* verb);

}  // namespace lockstep::tools
