// The verb `lockstep paper`: runs the Python program beside it.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/base/process/exec.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_paper(CLI::App& app, int&) {
  CLI::App* const verb = app.add_subcommand(
      "paper", "Repeats experiments of papers and RFCs: a figure beside the published numbers");
  verb->prefix_command();
  verb->set_help_flag();  // the Python program has its own --help
  verb->callback([verb] {
    std::vector<std::string> words{"--program", own_program().string()};
    const std::vector<std::string> rest = verb->remaining();
    words.insert(words.end(), rest.begin(), rest.end());
    exec_python("verbs/paper/__main__.py", words);
  });
}

}  // namespace lockstep::tools
