// The manual page and the shell completions, made from the command line itself.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace lockstep::tools {

/// A man(1) page of section 1: every verb with its options, help and example. `release` is the
/// version that the page shows.
std::string manual_page(const CLI::App& app, std::string_view release);

/// Completion scripts for the program's verbs and options: bash, zsh (as the function `_lockstep`
/// in a folder of fpath) and fish. Where neither fits, they offer files.
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

}  // namespace lockstep::tools
