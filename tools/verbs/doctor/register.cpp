// The verb `lockstep doctor`: its options, and what it prints.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/doctor/report.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

struct Options {
  std::string interface, address;
  std::string driver = "packet";
  std::uint32_t mtu = 0;
  std::uint32_t shards = 1;
  bool json = false;
};

int run_doctor(const Options& options) {
  const std::map<std::string, DriverKind> kinds{{"packet", DriverKind::packet},
                                                {"xdp", DriverKind::xdp},
                                                {"xdp-native", DriverKind::xdp_native},
                                                {"xdp-generic", DriverKind::xdp_generic},
                                                {"xdp-zero-copy", DriverKind::xdp_zero_copy}};
  std::optional<HostAddress> address;
  if (!options.address.empty()) {
    const auto found = parse_address_and_prefix(options.address);
    if (!found) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--address {}: expected an address and its prefix, like "
                                "10.9.0.2/24 or 2001:db8::2/64: correct it",
                                options.address));
    }
    address = HostAddress{found->address, found->prefix_bits};
  }
  const DoctorFacts facts = probe(options.interface, address);
  const std::vector<Check> checks =
      judge(facts, {kinds.at(options.driver), options.mtu, options.shards});
  fmt::print("{}", options.json ? doctor_json(facts, options.driver, checks)
                                : doctor_text(checks, terminal_columns()));
  return static_cast<int>(breaks_in(checks) == 0 ? ExitCode::fine : ExitCode::finding);
}

}  // namespace

void register_doctor(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "doctor",
      "Checks what would keep a driver from working on an interface, and prints the fixes");
  auto const options = std::make_shared<Options>();
  verb->add_option("--iface", options->interface, "an existing interface")->required();
  verb->add_option("--driver", options->driver,
                   "as for `serve http`: packet, xdp, xdp-native, xdp-generic or xdp-zero-copy")
      ->check(CLI::IsMember({"packet", "xdp", "xdp-native", "xdp-generic", "xdp-zero-copy"}))
      ->capture_default_str();
  verb->add_option("--address", options->address, "the address and prefix that the stack will use");
  verb->add_option("--mtu", options->mtu,
                   "largest IP packet in octets (default: the interface's MTU)")
      ->check(CLI::Range(576, 65'000));
  verb->add_option("--shards", options->shards, "as for `serve http`")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "It changes nothing. Run it with the rights that the server will have.\n"
      "Exit code 1: a check found something that would keep the driver from working.\n"
      "Example: lockstep doctor --iface eth1 --driver xdp --address 10.9.0.2/24");
  verb->callback([options, &exit_code] { exit_code = run_doctor(*options); });
}

}  // namespace lockstep::tools
