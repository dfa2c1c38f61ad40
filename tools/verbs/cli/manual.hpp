// The manual page and the shell completions, made from the command line itself.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace lockstep::tools {

/// A page for man(1) in section 1: every verb with its options, help and example. `release` is the
/// version that it names.
std::string manual_page(const CLI::App& app, std::string_view release);

/// Scripts that complete the program's verbs and options, for one shell each. Where neither fits,
/// files are offered. Bash, zsh (as the function `_lockstep` of an fpath folder) and fish.
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

}  // namespace lockstep::tools
