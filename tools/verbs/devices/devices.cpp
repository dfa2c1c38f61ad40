// The table of devices, and the loop that serves one.
#include "tools/verbs/devices/devices.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "conformance/devices/load.hpp"
#include "conformance/devices/program.h"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

nlohmann::ordered_json words_of(const std::string& text) {
  auto out = nlohmann::ordered_json::array();
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    out.push_back(word);
  }
  return out;
}

}  // namespace

std::vector<DeviceRow> device_rows() {
  std::vector<DeviceRow> out;
  for (const std::filesystem::path& path : conformance::found_devices()) {
    DeviceRow row;
    row.name = path.stem().string();
    row.path = path.string();
    try {
      const lockstep_device_calls& calls = conformance::load_device(path);
      row.stack = calls.stack;
      row.abilities = calls.abilities;
      row.missing = conformance::missing_calls(calls);
    } catch (const Failure& failure) {
      row.wrong = failure.what();
    }
    out.push_back(row);
  }
  return out;
}

std::string devices_text(const std::vector<DeviceRow>& rows, std::size_t width) {
  using Align = TextTable::Align;
  TextTable table({{"device", Align::left},
                   {"stack", Align::left},
                   {"abilities", Align::left},
                   {"calls that it lacks", Align::left}});
  for (const DeviceRow& row : rows) {
    table.add({row.name, row.wrong.empty() ? row.stack : "-", row.abilities,
               row.wrong.empty() ? row.missing.empty() ? "none" : row.missing : row.wrong});
  }
  return table.text(width);
}

std::string devices_json(const std::vector<DeviceRow>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const DeviceRow& row : rows) {
    nlohmann::ordered_json one{{"name", row.name}, {"path", row.path}};
    if (row.wrong.empty()) {
      one["stack"] = row.stack;
      one["abilities"] = words_of(row.abilities);
      one["missing"] = words_of(row.missing);
    } else {
      one["wrong"] = row.wrong;
    }
    out.push_back(one);
  }
  return json_text(nlohmann::ordered_json{{"devices", out}});
}

int serve_device(const std::string& device) {
  const lockstep_device_calls& calls = conformance::load_device(conformance::device_path(device));
  // What the device prints goes to the standard error.
  const int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (const char* const wrong = lockstep_device_serve(&calls, STDIN_FILENO, out)) {
    throw Failure(ExitCode::finding, fmt::format("device {}: {}", calls.name, wrong));
  }
  return static_cast<int>(ExitCode::fine);
}

}  // namespace lockstep::tools
