// The table of devices, and the loop that serves one.
#include "tools/verbs/devices/devices.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "conformance/devices/load.hpp"
#include "conformance/devices/peer.hpp"
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

/// Starts a program and asks what it can do.
void ask(const std::filesystem::path& path, DeviceRow& row) {
  conformance::DevicePeer const peer(path);
  conformance::DeviceAbout const& about = peer.about();
  row.stack = about.stack;
  row.abilities = fmt::format("{}", fmt::join(about.abilities, " "));
  for (int call = LOCKSTEP_CALL_LISTEN; call <= LOCKSTEP_CALL_EVENTS; ++call) {
    std::string_view const name = conformance::name_of(static_cast<lockstep_device_call>(call));
    if (!about.calls.contains(name)) {
      row.missing += row.missing.empty() ? "" : " ";
      row.missing += name;
    }
  }
}

}  // namespace

std::vector<DeviceRow> device_rows() {
  std::vector<DeviceRow> out;
  for (const std::filesystem::path& path : conformance::found_devices()) {
    DeviceRow row;
    row.name = conformance::device_name(path);
    row.path = path.string();
    row.program = conformance::is_program(path);
    try {
      if (row.program) {
        ask(path, row);
        out.push_back(row);
        continue;
      }
      const lockstep_device_calls& calls = conformance::load_device(path);
      row.stack = calls.stack;
      row.abilities = calls.abilities;
      row.missing = conformance::missing_calls(calls);
    } catch (const Failure& failure) {
      row.wrong = failure.what();
    } catch (const conformance::DeviceFault& fault) {
      row.wrong = fault.what();
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
    if (row.program) {
      one["program"] = true;
    }
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
  const std::filesystem::path path = conformance::device_path(device);
  if (device.find('/') == std::string::npos && conformance::is_program(path)) {
    execl(path.c_str(), path.c_str(), static_cast<char*>(nullptr));
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: it cannot be run: {}", path.string(), std::strerror(errno)));
  }
  conformance::serve_library(path);
  return static_cast<int>(ExitCode::fine);
}

}  // namespace lockstep::tools
