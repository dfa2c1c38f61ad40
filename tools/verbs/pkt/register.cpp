// The verb `lockstep pkt`: its options, and where its reports are written.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "conformance/devices/load.hpp"
#include "conformance/devices/peer.hpp"
#include "conformance/script/assertion.hpp"
#include "conformance/script/explain.hpp"
#include "conformance/script/from_capture.hpp"
#include "conformance/script/packet.hpp"
#include "conformance/script/report.hpp"
#include "conformance/script/sysctl.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

namespace script = conformance::script;

struct PktOptions {
  std::vector<std::string> paths, defines;
  std::string json, junit, pcapng = "pkt-failures", captures;
  script::Overrides overrides;
  std::uint32_t jobs = 1;
  std::string device;
  bool tap = false, failed = false, no_referee = false, constructs = false;
};

script::Defines defines_of(const std::vector<std::string>& texts) {
  script::Defines out;
  for (std::string const& text : texts) {
    std::size_t const equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--define {}: expected NAME=VALUE: write it so", text));
    }
    out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

void save_reports(const PktOptions& options, const script::Report& report) {
  script::save_captures(report);
  for (script::Ran const& ran : report.scripts) {
    if (!options.tap && options.captures.empty() && !ran.capture_path.empty()) {
      fmt::print("capture: {}\n", ran.capture_path);
    }
  }
  if (!options.json.empty()) {
    save_file(options.json, script::json_text(report));
  }
  if (!options.junit.empty()) {
    save_file(options.junit, script::junit_text(report));
  }
}

/// The path of a device that starts; each script then starts its own.
std::filesystem::path checked_device(const std::string& name) {
  auto out = conformance::device_path(name);
  try {
    static_cast<void>(conformance::DevicePeer(out).about());
  } catch (const conformance::DeviceFault& fault) {
    throw Failure(ExitCode::finding, fault.what());
  }
  return out;
}

int run_scripts(const PktOptions& options) {
  script::Batch batch;
  batch.defines = defines_of(options.defines);
  batch.overrides = options.overrides;
  batch.overrides.keep_capture = !options.captures.empty();
  batch.overrides.referee = !options.no_referee;
  if (!options.device.empty()) {
    batch.overrides.device = checked_device(options.device);
  }
  batch.jobs = options.jobs;
  auto const files = script::find_scripts(options.paths);
  for (std::string const& file : files) {
    refuse_overwrite(file, options.json);
    refuse_overwrite(file, options.junit);
  }
  set_check_handler(script::print_failed_check);
  script::Report report = script::run_all(files, batch);
  script::name_captures(report, options.captures.empty() ? options.pcapng : options.captures);
  // Results are printed first, so that an error in saving a report does not hide them.
  if (options.tap) {
    fmt::print("{}", script::tap_text(report));
  } else {
    fmt::print("{}", script::table_text(report, options.failed, terminal_columns()));
    fmt::print("{} scripts per second, {} at a time\n", report.per_second(), options.jobs);
  }
  std::fflush(stdout);
  save_reports(options, report);
  return report.exit_code();
}

/// How often each construct of the language occurs.
class Constructs {
 public:
  void add(const script::Script& of) {
    for (script::Event const& event : of.events) {
      add(event);
    }
    for (script::Note const& note : of.notes) {
      ++counts_["without effect: " + note.text.substr(0, note.text.find_first_of(" =\n"))];
    }
    ++counts_[of.upstream ? "script for packetdrill" : "script with a profile or a config"];
  }
  const std::map<std::string, std::size_t>& all() const { return counts_; }

 private:
  void add(const script::Event& event) {
    using Kind = script::Event::Kind;
    if (event.when.returns_at) {
      ++counts_["time of a call that blocks"];
    } else if (event.when.any || event.when.end != event.when.begin) {
      ++counts_["open time"];
    }
    if (event.kind == Kind::call) {
      ++counts_["call " + event.call.name];
    } else if (event.kind == Kind::code) {
      ++counts_["code"];
    } else if (event.kind == Kind::command) {
      counts_["command that sets"] += event.shell.set.size();
      counts_["command that asserts a state"] += event.shell.checks.size();
    } else if (event.kind == Kind::packet) {
      add(event.packet);
    }
  }
  void add(const script::Packet& packet) {
    bool const in = packet.direction == script::Direction::in;
    std::string const protocol = packet.is_icmp ? "ICMP " : "TCP ";
    ++counts_[protocol + (in ? "packet that arrives" : "packet that is expected")];
    if (packet.ports) {
      ++counts_["ports of a packet"];
    }
    if (packet.socket) {
      ++counts_["socket of a packet"];
    }
    for (script::Option const& option : packet.tcp.options) {
      std::string const text = script::options_text({option});
      ++counts_["option " + text.substr(0, text.find(' '))];
    }
    if (packet.tcp.any_options) {
      ++counts_["option ..."];
    }
    if (packet.ip.ecn || packet.ip.tos || packet.ip.ttl || packet.ip.dscp) {
      ++counts_["IP field in brackets"];
    }
  }

  std::map<std::string, std::size_t> counts_;
};

/// Parses without running; prints each error in one line.
int check_scripts(const PktOptions& options) {
  script::Defines const defines = defines_of(options.defines);
  auto const files = script::find_scripts(options.paths);
  for (std::string const& file : files) {
    refuse_overwrite(file, options.json);
  }
  std::size_t events = 0;
  Constructs constructs;
  std::vector<std::string> errors;
  int worst = static_cast<int>(ExitCode::fine);
  for (std::string const& file : files) {
    try {
      script::Script const read = script::parse_file(file, defines);
      script::plan_of(read, {});
      for (script::Event const& event : read.events) {
        if (event.kind == script::Event::Kind::code) {
          script::parse_code(read, event);
        }
      }
      events += read.events.size();
      constructs.add(read);
    } catch (const Failure& failure) {
      fmt::print(stderr, "lockstep: {}\n", failure.what());
      worst = std::max(worst, static_cast<int>(failure.code()));
      errors.emplace_back(failure.what());
    }
  }
  fmt::print("{} scripts, {} events, {} scripts with an error\n", files.size(), events,
             errors.size());
  for (auto const& [name, count] : constructs.all()) {
    if (options.constructs && count != 0) {
      fmt::print("  {:>6}  {}\n", count, name);
    }
  }
  if (!options.json.empty()) {
    nlohmann::ordered_json const report{{"scripts", files.size()},
                                        {"events", events},
                                        {"errors", errors},
                                        {"constructs", constructs.all()}};
    save_file(options.json, json_text(report));
  }
  return worst;
}

void register_run(CLI::App& verb, int& exit_code) {
  CLI::App* const run = verb.add_subcommand("run", "Runs .pkt scripts and prints their verdicts");
  auto const options = std::make_shared<PktOptions>();
  run->add_option("script", options->paths, "scripts, or folders of .pkt files")->required();
  run->add_option("--profile", options->overrides.profile,
                  "default, rfc, linux or freebsd; overrides the scripts' profile");
  run->add_option("--device", options->device,
                  "run them on this TCP in place of our stack: a name that `lockstep devices` "
                  "lists, or a path");
  run->add_option("-D,--define", options->defines,
                  "NAME=VALUE, defines a name used in the scripts");
  run->add_flag("--strict-segments", options->overrides.strict_segments,
                "each segment of a script must be exactly one segment on the wire");
  run->add_flag("--exact-times", options->overrides.exact_times,
                "with --device: no tolerance but the script's for when its timers fire");
  run->add_flag("--allow-trailing", options->overrides.allow_trailing,
                "allow packets after the last expected one");
  run->add_flag("--lenient", options->overrides.lenient,
                "leave out lines that are not understood or not supported, and say so, instead of "
                "refusing the script");
  run->add_flag(
      "--no-referee", options->no_referee,
      "compare what our stack sends with the script only, not with the rules of the RFCs");
  run->add_option("--jobs", options->jobs, "scripts run at the same time (default: 1)")
      ->check(CLI::Range(1, 256));
  run->add_flag("--failed", options->failed, "print only the rows of scripts that do not pass");
  run->add_flag("--tap", options->tap,
                "print TAP 14 (Test Anything Protocol) instead of the table");
  run->add_option("--json", options->json, "write the report as JSON to this file");
  run->add_option("--junit", options->junit, "write the report as JUnit XML to this file");
  run->add_option("--pcapng", options->pcapng,
                  "write a capture of each failed script to this folder (default: pkt-failures)");
  run->add_option("--captures", options->captures,
                  "write a capture of every script to this folder");
  run->footer(
      "Exit code 1: a script fails; 2: a script has a syntax error, or no script was found;\n"
      "3: a file is missing. conformance/script/README.md describes the language. A script that\n"
      "needs something that the device does not support is left out.\n"
      "Example: lockstep pkt run conformance/script --failed --jobs 2\n"
      "Example: lockstep pkt run conformance/script --device lwip --failed");
  run->callback([options, &exit_code] { exit_code = run_scripts(*options); });
}

struct FromCaptureOptions {
  std::string capture, local, out;
  bool json = false;
};

int write_from_capture(const FromCaptureOptions& options) {
  std::optional<IpAddress> local;
  if (!options.local.empty()) {
    local = parse_address(options.local);
    if (!local) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--local {}: expected an address such as 192.0.2.1 or 2001:db8::1: "
                                "correct it",
                                options.local));
    }
  }
  refuse_overwrite(options.capture, options.out);
  set_check_handler(script::print_failed_check);
  script::FromCapture const made = script::from_capture(options.capture, local);
  if (!options.out.empty()) {
    save_file(options.out, made.text);
  }
  if (options.json) {
    nlohmann::ordered_json out{{"passes", made.difference.empty()},
                               {"difference", made.difference},
                               {"packets", made.packets},
                               {"script", made.text}};
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (options.out.empty()) {
    fmt::print("{}", made.text);
  }
  if (made.difference.empty()) {
    return static_cast<int>(ExitCode::fine);
  }
  fmt::print(stderr, "lockstep: {}\n", made.difference);
  return static_cast<int>(ExitCode::finding);
}

void register_from_capture(CLI::App& verb, int& exit_code) {
  CLI::App* const from =
      verb.add_subcommand("from-capture", "Writes a script of the first connection of a capture");
  auto const options = std::make_shared<FromCaptureOptions>();
  from->add_option("capture", options->capture, "pcap or pcapng")->required();
  from->add_option("--local", options->local,
                   "the end that our stack replaces (default: the passive opener)");
  from->add_option("--out", options->out,
                   "write the script to this file (default: standard output)");
  from->add_flag("--json", options->json,
                 "print JSON: whether the script passes, what differs, and the script");
  from->footer(
      "The script passes with our stack. If our stack behaves differently from the captured end,\n"
      "one line says where, and the exit code is 1.\n"
      "Example: lockstep pkt from-capture web.pcapng --out web.pkt");
  from->callback([options, &exit_code] { exit_code = write_from_capture(*options); });
}

void print_sysctls(bool json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  TextTable table({{"sysctl", TextTable::Align::left},
                   {"of", TextTable::Align::left},
                   {"values", TextTable::Align::left},
                   {"when", TextTable::Align::left},
                   {"fields of Config", TextTable::Align::left}});
  for (script::SysctlRow const& row : script::sysctl_rows()) {
    std::string const when = row.later ? "sockets" : "any time";
    table.add({row.name, row.system, row.values, when, row.fields});
    all.push_back({{"name", row.name},
                   {"system", row.system},
                   {"values", row.values},
                   {"when", when},
                   {"fields", row.fields}});
  }
  fmt::print("{}", json ? all.dump(2) + "\n" : table.text(terminal_columns()));
}

void register_sysctls(CLI::App& verb, int& exit_code) {
  CLI::App* const sysctls = verb.add_subcommand(
      "sysctls", "Lists the sysctls that scripts may set, and their fields of Config");
  auto const json = std::make_shared<bool>(false);
  sysctls->add_flag("--json", *json, "print JSON");
  sysctls->footer(
      "any time: also between calls, from then on; sockets: there for sockets created later only.\n"
      "--profile=NAME is applied first, then sysctls, then --config=FIELD=VALUE.\n"
      "Example: lockstep pkt sysctls");
  sysctls->callback([json, &exit_code] {
    print_sysctls(*json);
    exit_code = static_cast<int>(ExitCode::fine);
  });
}

struct ExplainOptions {
  std::string place;
  std::vector<std::string> defines;
  script::Overrides overrides;
  bool json = false;
};

void register_explain(CLI::App& verb, int& exit_code) {
  CLI::App* const explain = verb.add_subcommand(
      "explain",
      "Explains what a step of a script exercises, and which RFC clauses are cited for it");
  auto const options = std::make_shared<ExplainOptions>();
  explain->add_option("place", options->place, "FILE:LINE, of a .pkt script")->required();
  explain->add_option("--profile", options->overrides.profile,
                      "default, rfc, linux or freebsd; overrides the script's profile");
  explain->add_option("-D,--define", options->defines,
                      "NAME=VALUE, defines a name used in the script");
  explain->add_flag("--json", options->json, "print JSON");
  explain->footer("Example: lockstep pkt explain conformance/script/rto/karn.pkt:19");
  explain->callback([options, &exit_code] {
    set_check_handler(script::print_failed_check);
    script::Explained const what =
        script::explain(options->place, defines_of(options->defines), options->overrides);
    fmt::print("{}", options->json ? script::explained_json(what) : script::explained_text(what));
    exit_code = static_cast<int>(ExitCode::fine);
  });
}

}  // namespace

void register_pkt(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "pkt", "Runs scripts of packets and socket calls on the stack, in virtual time");
  verb->require_subcommand(1);
  register_run(*verb, exit_code);
  register_from_capture(*verb, exit_code);
  CLI::App* const check = verb->add_subcommand(
      "check", "Checks the syntax of scripts, and names errors as FILE:LINE:COLUMN");
  auto const options = std::make_shared<PktOptions>();
  check->add_option("script", options->paths, "scripts, or folders of .pkt files")->required();
  check->add_option("-D,--define", options->defines,
                    "NAME=VALUE, defines a name used in the scripts");
  check->add_option("--json", options->json, "also write the counts and the errors to this file");
  check->add_flag("--constructs", options->constructs,
                  "also print how often each construct of the language occurs");
  check->footer(
      "Exit code 2: a script has an error; 3: a file is missing.\n"
      "Example: lockstep pkt check conformance/script --constructs");
  check->callback([options, &exit_code] { exit_code = check_scripts(*options); });
  register_sysctls(*verb, exit_code);
  register_explain(*verb, exit_code);
}

}  // namespace lockstep::tools
