// The verb `lockstep sweep`: its options; main.py in this folder does the work.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/base/process/exec.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

std::uint32_t processors() {
  return static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

struct SweepOptions {
  std::string file, out, csv, parquet, dask;
  std::uint32_t jobs = processors();
  bool fresh = false, json = false;
};

std::vector<std::string> words_of(const SweepOptions& options) {
  std::vector<std::string> words{own_program().string(), "--jobs", std::to_string(options.jobs)};
  for (const auto& [name, value] : {std::pair{"--out", &options.out},
                                    {"--csv", &options.csv},
                                    {"--parquet", &options.parquet},
                                    {"--dask", &options.dask}}) {
    if (!value->empty()) {
      words.insert(words.end(), {name, *value});
    }
  }
  if (options.fresh) {
    words.emplace_back("--fresh");
  }
  if (options.json) {
    words.emplace_back("--json");
  }
  words.insert(words.end(), {"--", options.file});
  return words;
}

}  // namespace

void register_sweep(CLI::App& app, int&) {
  CLI::App* const verb = app.add_subcommand(
      "sweep",
      "Runs every cell of a grid, on processes or a Dask cluster; resumes a stopped sweep");
  auto const options = std::make_shared<SweepOptions>();
  verb->add_option("FILE", options->file,
                   "a TOML file that describes the sweep, see tools/verbs/sweep/README.md")
      ->required();
  auto* const jobs = verb->add_option("--jobs", options->jobs, "worker processes")
                         ->check(CLI::Range(1, 256))
                         ->capture_default_str();
  verb->add_option("--dask", options->dask,
                   "use the workers of this Dask scheduler instead, like tcp://10.0.0.7:8786")
      ->excludes(jobs);
  verb->add_option("--out", options->out,
                   "file for the results (default: FILE with the ending .results.jsonl)");
  verb->add_option("--csv", options->csv,
                   "file for mean, median and 95 % interval of each arm, and paired differences");
  verb->add_option("--parquet", options->parquet,
                   "file for the same table as Apache Parquet; needs pyarrow");
  verb->add_flag("--fresh", options->fresh, "discard results of earlier runs");
  verb->add_flag("--json", options->json, "print the summary as JSON");
  verb->footer(
      "Cells that have a result are not run again. Exit code 1: a cell's exit code was not 0.\n"
      "Example: lockstep sweep tools/verbs/sweep/example.toml --jobs 2");
  verb->callback([options] { exec_python("verbs/sweep/main.py", words_of(*options)); });
}

}  // namespace lockstep::tools
