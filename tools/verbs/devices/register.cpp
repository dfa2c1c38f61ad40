// The verb `lockstep devices`: its options.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/devices/devices.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_devices(CLI::App& app, int& exit_code) {
  CLI::App* const verb =
      app.add_subcommand("devices", "Lists the TCP stacks that can be tested in virtual time");
  const auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "print JSON");
  verb->footer(
      "A device is a shared library with the interface of conformance/devices/device.h. It is "
      "found\n"
      "by name in the folders of LOCKSTEP_DEVICES, separated by colons, and where Lockstep is "
      "built\n"
      "or installed. `pytest conformance/scapy --target device:NAME` tests one.\n"
      "Example: lockstep devices");
  CLI::App* const serve = verb->add_subcommand(
      "serve", "Serves a device on standard input and output, for another process");
  const auto device = std::make_shared<std::string>();
  serve->add_option("device", *device, "its name, or the path of its shared library")->required();
  serve->footer(
      "conformance/devices/program.h describes the requests and the answers. Ends with its input.\n"
      "Example: lockstep devices serve lwip");
  serve->callback([device, &exit_code] { exit_code = serve_device(*device); });
  verb->callback([verb, json, &exit_code] {
    if (!verb->get_subcommands().empty()) {
      return;
    }
    const std::vector<DeviceRow> rows = device_rows();
    fmt::print("{}", *json ? devices_json(rows) : devices_text(rows, terminal_columns()));
    bool wrong = rows.empty();
    for (const DeviceRow& row : rows) {
      wrong = wrong || !row.wrong.empty();
    }
    exit_code = static_cast<int>(wrong ? ExitCode::finding : ExitCode::fine);
  });
}

}  // namespace lockstep::tools
