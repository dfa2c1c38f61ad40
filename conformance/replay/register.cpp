// The verb `lockstep replay`: its options, and what it prints.
#include <arpa/inet.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>
#include <optional>

#include "conformance/replay/export.hpp"
#include "conformance/replay/report.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/journal/replay.hpp"
#include "tools/output/draft_file.hpp"
#include "tools/output/json.hpp"
#include "tools/output/progress.hpp"
#include "tools/world/units.hpp"

namespace lockstep::tools {
namespace {

using namespace lockstep::conformance;

struct ReplayOptions {
  std::string capture, journal, device, scenario, json, pcapng, until;
  std::optional<std::uint64_t> turns;
  bool frames = false, inspect = false;
};

/// An address, or an address and a port.
struct DeviceName {
  IpAddress address;
  std::optional<Port> port;
};

std::optional<IpAddress> address_from(const std::string& text) {
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return IpAddress::from(Ipv4{ntohl(v4.s_addr)});
  }
  std::array<std::uint8_t, 16> v6{};
  if (inet_pton(AF_INET6, text.c_str(), v6.data()) != 1) {
    return std::nullopt;
  }
  IpAddress out;
  for (std::size_t i = 0; i < 8; ++i) {
    out.high = out.high << 8 | v6[i];
    out.low = out.low << 8 | v6[8 + i];
  }
  return out;
}

DeviceName parse_device(const std::string& text) {
  std::string host = text;
  std::string port;
  std::size_t const bracket = text.find("]:");
  std::size_t const colon = text.find(':');
  if (text.starts_with('[') && bracket != std::string::npos) {
    host = text.substr(1, bracket - 1);
    port = text.substr(bracket + 2);
  } else if (colon != std::string::npos && text.find(':', colon + 1) == std::string::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  std::uint16_t number = 0;
  auto const parsed = std::from_chars(port.data(), port.data() + port.size(), number);
  bool const port_good = port.empty() || (parsed.ec == std::errc() && number != 0 &&
                                          parsed.ptr == port.data() + port.size());
  auto const address = address_from(host);
  if (!address || !port_good) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--device {}: expected an address such as 10.0.0.1, or with a port "
                              "10.0.0.1:80 or [2001:db8::1]:80: correct it",
                              text));
  }
  DeviceName out;
  out.address = *address;
  if (!port.empty()) {
    out.port = Port{number};
  }
  return out;
}

std::optional<Endpoint> named_side(const Flow& flow, const DeviceName& name) {
  for (const Endpoint& side : {flow.first, flow.second}) {
    if (side.address == name.address && (!name.port || side.port == *name.port)) {
      return side;
    }
  }
  return std::nullopt;
}

std::vector<Replayed> replay_all(const ReplayOptions& options, const CaptureFlows& capture) {
  std::vector<Replayed> out;
  if (!options.scenario.empty()) {
    static Scenario scenario;
    scenario = load_scenario(options.scenario);
    Flow const flow = flow_of(capture, scenario, options.capture);
    out.push_back(replay_flow(flow, scenario.device, &scenario));
    return out;
  }
  std::optional<DeviceName> device;
  if (!options.device.empty()) {
    device = parse_device(options.device);
  }
  Progress progress;
  for (const Flow& flow : capture.flows) {
    progress.draw(out.size(), capture.flows.size(),
                  fmt::format("{} of {} flows", out.size(), capture.flows.size()));
    auto const side = device ? named_side(flow, *device) : choose_device(flow);
    if (side) {
      out.push_back(replay_flow(flow, *side, nullptr));
    }
  }
  if (device && out.empty()) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: no TCP segment from or to {}; expected the address of one side: "
                              "leave --device out to see them",
                              options.capture, options.device));
  }
  return out;
}

/// What was in the capture besides TCP, for those who wonder where their packets went.
std::string other_frames(const CaptureFlows& capture) {
  std::string out;
  for (std::size_t kind = 0; kind < capture.kinds.size(); ++kind) {
    if (kind != static_cast<std::size_t>(FrameKind::tcp) && capture.kinds[kind] != 0) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", capture.kinds[kind],
                         name_of(static_cast<FrameKind>(kind)));
    }
  }
  return out.empty() ? "" : fmt::format(" (not replayed: {})", out);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// The files that were asked for: opened before the replay, named after it.
class Outputs {
 public:
  explicit Outputs(const ReplayOptions& options) : capture_(options.capture) {
    for (const std::string& path : {options.json, options.pcapng}) {
      refuse_overwrite(options.capture, path);
      refuse_overwrite(options.scenario, path);
    }
    open(options.json, json_);
    open(options.pcapng, pcapng_);
  }

  void write(const std::vector<Replayed>& all) {
    if (json_ != nullptr) {
      nlohmann::ordered_json out;
      out["capture"] = capture_;
      out["flows"] = nlohmann::ordered_json::array();
      for (const Replayed& replayed : all) {
        out["flows"].push_back(to_json(replayed));
      }
      json_->put(json_text(out));
      json_->keep();
    }
    if (pcapng_ != nullptr) {
      PcapngWriter writer;
      for (const Replayed& replayed : all) {
        add_packets(replayed, writer);
      }
      pcapng_->put(writer.bytes());
      pcapng_->keep();
    }
  }

 private:
  static void open(const std::string& path, std::unique_ptr<DraftFile>& file) {
    if (!path.empty()) {
      file = std::make_unique<DraftFile>(path);
    }
  }

  std::string capture_;
  std::unique_ptr<DraftFile> json_, pcapng_;
};

int run_replay(const ReplayOptions& options) {
  CaptureFlows const capture = read_flows(options.capture);
  Outputs outputs(options);
  std::vector<Replayed> const all = replay_all(options, capture);
  outputs.write(all);
  fmt::print("{}: {}, {}{}\n", options.capture, counted(capture.packets, "packet"),
             counted(capture.flows.size(), "TCP flow"), other_frames(capture));
  std::array<std::size_t, 4> counts{};
  for (const Replayed& replayed : all) {
    ++counts[static_cast<std::size_t>(replayed.verdict.judgement)];
    fmt::print("{} (device) and {}: {}\n", text_of(replayed.script.device),
               text_of(replayed.script.peer), verdict_text(replayed.verdict));
    for (const std::string& note : replayed.script.notes) {
      fmt::print("  {}\n", note);
    }
    fmt::print("{}", divergence_text(replayed));
  }
  fmt::print("{} agree, {} differ as allowed, {} violate, {} cannot be told\n", counts[0],
             counts[1], counts[2], counts[3]);
  return static_cast<int>(counts[2] != 0 ? ExitCode::finding : ExitCode::fine);
}

}  // namespace

namespace {

journal::ReplayRequest journal_request(const ReplayOptions& options) {
  journal::ReplayRequest request{options.journal, options.pcapng, options.json};
  if (!options.until.empty()) {
    request.until = parse_duration(options.until);
    if (!request.until) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--until {}: expected a time like 1.5s or 200ms", options.until));
    }
  }
  request.turns = options.turns;
  request.inspect = options.inspect;
  if (options.frames) {
    request.on_line = [](const std::string& line) { fmt::print("{}\n", line); };
  }
  return request;
}

void add_journal_options(CLI::App& verb, ReplayOptions& options, CLI::Option* capture) {
  verb.add_option("--until", options.until,
                  "of a journal: stop this long after its first turn, like 1.5s")
      ->excludes(capture);
  verb.add_option("--turns", options.turns, "of a journal: stop after so many turns")
      ->excludes(capture);
  verb.add_flag("--frames", options.frames, "of a journal: a line for each frame, as it is played")
      ->excludes(capture);
  verb.add_flag("--inspect", options.inspect,
                "of a journal: what each connection is at where it stopped")
      ->excludes(capture);
}

}  // namespace

void register_replay(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "replay", "Replays a capture with our TCP in place of one side, and compares what it owed");
  auto const options = std::make_shared<ReplayOptions>();
  CLI::Option* const capture = verb->add_option("capture", options->capture,
                                                "a pcap or pcapng file");
  CLI::Option* const journal = verb->add_option(
      "--journal", options->journal,
      "instead of a capture: what --record of `lockstep serve` or `load` kept, to the same core "
      "again");
  journal->excludes(capture);
  verb->add_option("--device", options->device,
                   "the side that our TCP replaces, as address or address:port (default: the side "
                   "that was connected to)")
      ->excludes(journal);
  verb->add_option("--scenario", options->scenario,
                   "a scenario.toml: device, configuration and the application's calls (default: "
                   "inferred from the capture)")
      ->excludes(journal);
  verb->add_option("--json", options->json, "also write the verdicts to this file");
  verb->add_option("--pcapng", options->pcapng,
                   "also write the replayed packets, with the connection's state as comments");
  add_journal_options(*verb, *options, capture);
  verb->footer(
      "A verdict for each flow: agrees; differs, allowed (and by which rule); violates (and which\n"
      "requirement); cannot tell (and why). Exit code 1: a flow violates, or a frame of a journal\n"
      "is not what it was.\n"
      "Example: lockstep replay web.pcapng --device 192.0.2.7\n"
      "         lockstep replay --journal run.journal --pcapng run.pcapng\n"
      "         lockstep replay --journal run.journal --until 1.5s --frames --inspect");
  verb->callback([options, capture, &exit_code] {
    if (!options->journal.empty()) {
      exit_code = journal::run_journal_replay(journal_request(*options));
      return;
    }
    if (options->capture.empty()) {
      throw CLI::RequiredError(capture->get_name() + " or --journal");
    }
    exit_code = run_replay(*options);
  });
}

}  // namespace lockstep::tools
