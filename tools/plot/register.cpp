// The verb `lockstep plot`: becomes the Python program tools/plot of the checkout it was built in.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/cli/failure.hpp"
#include "tools/cli/verbs.hpp"

namespace lockstep::tools {
namespace {

/// The first folder above this program that holds tools/plot; empty: there is none.
std::filesystem::path checkout() {
  std::error_code ignored;
  auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  while (!std::filesystem::exists(folder / "tools/plot/__main__.py")) {
    if (folder == folder.root_path() || folder.empty()) {
      return {};
    }
    folder = folder.parent_path();
  }
  return folder;
}

[[noreturn]] void become(const std::vector<std::string>& words) {
  auto const top = checkout();
  if (top.empty()) {
    throw Failure(ExitCode::environment,
                  "plot: no checkout is around this program: run build/release/lockstep of one");
  }
  auto const python = top / "build/venv/bin/python";
  if (!std::filesystem::exists(python)) {
    throw Failure(ExitCode::environment,
                  "plot: matplotlib is not here: run tools/setup, which puts it into build/venv");
  }
  auto const path = ::getenv("PYTHONPATH");
  auto const above = path == nullptr ? top.string() : top.string() + ":" + path;
  ::setenv("PYTHONPATH", above.c_str(), 1);
  std::vector<std::string> kept{python.string(), "-m", "tools.plot"};
  kept.insert(kept.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (auto& word : kept) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::execv(python.c_str(), arguments.data());
  throw Failure(ExitCode::environment,
                fmt::format("{} does not start: {}", python.string(), std::strerror(errno)));
}

}  // namespace

void register_plot(CLI::App& app, int&) {
  CLI::App* const verb = app.add_subcommand(
      "plot", "Figures of `lockstep ns3 run --out`: cwnd, RTT, queue, throughput, fairness");
  verb->prefix_command();
  verb->set_help_flag();  // its own program has one
  verb->callback([verb] { become(verb->remaining()); });
}

}  // namespace lockstep::tools
