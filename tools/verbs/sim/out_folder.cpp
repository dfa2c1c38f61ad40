// The folder of `sim run --out`: a summary, and tables of connections, time series and queues.
#include "tools/verbs/sim/out_folder.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "tools/base/process/failure.hpp"
#include "tools/lib/sim_report/report_json.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

void check_folder(const std::string& folder, bool force) {
  std::error_code error;
  fs::file_status const there = fs::status(folder, error);
  if (fs::exists(there) && !fs::is_directory(there)) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--out {}: not a folder: choose another name", folder));
  }
  if (!force && fs::is_directory(there) && !fs::is_empty(folder, error) && !error) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--out {}: the folder is not empty: choose another one, or replace "
                              "the files of the run before with --force",
                              folder));
  }
}

}  // namespace

OutFolder::OutFolder(const std::string& folder, bool force, sim::Kernel& kernel) : folder_(folder) {
  check_folder(folder, force);
  Tables tables{};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i] = &add(table_files[i]);
  }
  recorder_ = std::make_unique<Recorder>(kernel, tables);
  kernel.observe(*recorder_);
}

AtomicFile& OutFolder::add(std::string_view name) {
  files_.push_back(std::make_unique<AtomicFile>(fs::path(folder_) / name));
  return *files_.back();
}

void OutFolder::keep(const sim::Kernel& kernel, sim::Ending ending) {
  add("connections.csv").put(connections_csv(kernel));
  add("summary.json").put(report_json(kernel, name_of(ending)));
  for (auto& file : files_) {
    file->keep();
  }
}

}  // namespace lockstep::tools
