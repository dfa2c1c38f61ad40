// Options of a verb from a TOML file (--config), and as one (--print-config).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep::tools {

/// Adds --config and --print-config to a verb whose other options exist already, and sets its
/// callback: with --print-config the options are printed, otherwise `run` is called.
void add_config_options(CLI::App& verb, std::function<void()> run);

/// All given options of a parsed verb as TOML, the others as comments. A file with this text gives
/// the same text. Throws Failure (bad input) if a value is no UTF-8.
std::string config_text(const CLI::App& verb);

/// The command line, with the options of the file that --config names put in; one that the command
/// line has too is left out.
class ConfiguredWords {
 public:
  /// Throws Failure: bad input with file and line, or environment if the file cannot be read.
  ConfiguredWords(const CLI::App& app, const std::vector<const char*>& words);

  /// Valid as long as this object.
  const std::vector<const char*>& words() const { return words_; }
  /// "FILE:LINE: " if the first option that the message names is one of the file; else empty.
  std::string place_of(const std::string& message) const;

 private:
  void read(const CLI::App& verb, const std::string& path);

  std::vector<std::string> added_;
  std::vector<const char*> words_;
  std::map<std::string, std::string> places_;  // by "--name"
};

}  // namespace lockstep::tools
