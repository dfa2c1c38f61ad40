// The table of devices, and the loop that serves one.
#include "tools/verbs/devices/devices.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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
    row.name = conformance::device_name(path);
    row.path = path.string();
    if (conformance::is_program(path)) {
      row.program = true;
      out.push_back(row);
      continue;
    }
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
    if (row.program) {
      table.add({row.name, "a program", "-", "-"});
      continue;
    }
    table.add({row.name, row.wrong.empty() ? row.stack : "-", row.abilities,
               row.wrong.empty() ? row.missing.empty() ? "none" : row.missing : row.wrong});
  }
  return table.text(width);
}

std::string devices_json(const std::vector<DeviceRow>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const DeviceRow& row : rows) {
    nlohmann::ordered_json one{{"name", row.name}, {"path", row.path}};
    if (row.program) {
      one["program"] = true;
    } else if (row.wrong.empty()) {
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
  const std::filesystem::path path = conformance::device_path(device);
  if (device.find('/') == std::string::npos && conformance::is_program(path)) {
    execl(path.c_str(), path.c_str(), static_cast<char*>(nullptr));
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: it cannot be run: {}", path.string(), std::strerror(errno)));
  }
  const lockstep_device_calls& calls = conformance::load_device(path);
  // What the device prints goes to the standard error.
  const int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (const char* const wrong = lockstep_device_serve(&calls, STDIN_FILENO, out)) {
    throw Failure(ExitCode::finding, fmt::format("device {}: {}", calls.name, wrong));
  }
  return static_cast<int>(ExitCode::fine);
}

}  // namespace lockstep::tools
