// The verb `lockstep replay`: its options, and what it prints.
#include <arpa/inet.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "conformance/devices/load.hpp"
#include "conformance/devices/peer.hpp"
#include "conformance/replay/connections.hpp"
#include "conformance/replay/device_play.hpp"
#include "conformance/replay/export.hpp"
#include "conformance/replay/report.hpp"
#include "conformance/replay/unaided.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/journal/replay.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

using namespace lockstep::conformance;

struct ReplayOptions {
  std::string capture, journal, scenario, json, pcapng, until, folder;
  std::vector<std::string> devices;  ///< an address of the capture, another TCP, or both
  std::optional<std::uint64_t> turns;
  bool frames = false, inspect = false;
};

/// An address, or an address and a port.
struct DeviceName {
  IpAddress address;
  std::optional<Port> port;
  std::string text;
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

/// Nothing: the text is no address.
std::optional<DeviceName> parse_address(const std::string& text) {
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
    return std::nullopt;
  }
  DeviceName out;
  out.address = *address;
  if (!port.empty()) {
    out.port = Port{number};
  }
  out.text = text;
  return out;
}

/// What --device names: a side of the capture, and the TCP that plays it.
struct Devices {
  std::optional<DeviceName> side;
  std::filesystem::path other;  ///< empty: our TCP
};

Devices parse_devices(const std::vector<std::string>& texts) {
  Devices out;
  for (const std::string& text : texts) {
    auto const side = parse_address(text);
    bool const looks_like_one =
        text.find_first_of(".:") != std::string::npos && text.find('/') == std::string::npos;
    if (!side && looks_like_one) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--device {}: expected an address such as 10.0.0.1, or with a port "
                                "10.0.0.1:80 or [2001:db8::1]:80: correct it",
                                text));
    }
    if (side ? out.side.has_value() : !out.other.empty()) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--device {}: there is already one: give at most one address and "
                                "one device",
                                text));
    }
    if (side) {
      out.side = side;
    } else {
      out.other = device_path(text);
    }
  }
  return out;
}

/// The packets of the capture that are not TCP and were not replayed, by kind.
std::string not_replayed(const tools::FrameCounts& kinds) {
  std::string const others = tools::other_frames(kinds);
  return others.empty() ? "" : fmt::format(" (not replayed: {})", others);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// The requested output files: opened before the replay, named when it is complete.
class Outputs {
 public:
  explicit Outputs(const ReplayOptions& options) : capture_(options.capture) {
    for (const std::string& path : {options.json, options.pcapng}) {
      refuse_overwrite(options.capture, path);
      refuse_overwrite(options.scenario, path);
    }
    refuse_same_output(options.json, options.pcapng);
    open(options.json, json_);
    open(options.pcapng, pcapng_);
  }

  /// Adds the result of one side to the files.
  void add(const Replayed& replayed) {
    if (pcapng_ != nullptr && !replayed.run.steps.empty() && !plays_) {
      add_packets(replayed, writer_);
    }
  }
  /// Adds the packets of a device's play.
  void add(const DevicePlay& play, const std::string& name) {
    plays_ = true;
    for (const PlayedPacket& packet : play.packets) {
      if (pcapng_ != nullptr) {
        writer_.add(packet.at, packet.bytes, packet.from_device ? "by " + name : "");
      }
    }
  }
  nlohmann::ordered_json json_of(const Replayed& replayed) const {
    return json_ != nullptr ? to_json(replayed) : nlohmann::ordered_json();
  }
  bool writes_json() const { return json_ != nullptr; }
  void add(nlohmann::ordered_json flow) {
    if (json_ != nullptr) {
      flows_.push_back(std::move(flow));
    }
  }

  void write(const std::string& warning) {
    if (json_ != nullptr) {
      nlohmann::ordered_json out;
      out["capture"] = capture_;
      if (!warning.empty()) {
        out["warning"] = warning;
      }
      out["flows"] = std::move(flows_);
      json_->put(json_text(out));
      json_->keep();
    }
    if (pcapng_ != nullptr) {
      pcapng_->put(writer_.bytes());
      pcapng_->keep();
    }
  }

 private:
  static void open(const std::string& path, std::unique_ptr<AtomicFile>& file) {
    if (!path.empty()) {
      file = std::make_unique<AtomicFile>(path);
    }
  }

  std::string capture_;
  std::unique_ptr<AtomicFile> json_, pcapng_;
  bool plays_ = false;  ///< the packets are those of a device
  PcapngWriter writer_;
  nlohmann::ordered_json flows_ = nlohmann::ordered_json::array();
};

/// The judged side of a connection, with what is printed of it at the end.
struct JudgedSide {
  Endpoint device, peer;
  Verdict verdict;
  std::vector<std::string> notes;
  std::string text;
  nlohmann::ordered_json json;
};

/// Judges connections while reading, and prints each when it is complete.
class Session {
 public:
  Session(const ReplayOptions& options, Outputs& outputs) : options_(options), outputs_(outputs) {
    Devices const named = parse_devices(options.devices);
    device_ = named.side;
    other_ = named.other;
    if (!other_.empty() && !options.scenario.empty()) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--device {}: a scenario is for our TCP only: leave --scenario out",
                                device_name(other_)));
    }
  }

  void judge(Connection& connection) {
    connection.number = next_++;
    std::vector<std::string> const notes = normalise(connection.flow);
    for (const Segment& segment : connection.flow.segments) {
      connection.watch.take(segment);
    }
    auto& sides = judged_[connection.number];
    Endpoint const opened = choose_device(connection.flow);
    bool const first = opened == connection.flow.first;
    for (const Endpoint& side : {opened, first ? connection.flow.second : connection.flow.first}) {
      if (device_ && !is_named(side)) {
        continue;
      }
      if (!other_.empty()) {
        sides.push_back(side_on_device(connection.flow, side));
      } else {
        Replayed replayed = replay_mended(connection.flow, side);
        replayed.script.notes.insert(replayed.script.notes.end(), notes.begin(), notes.end());
        sides.push_back(side_of(replayed));
      }
    }
  }

  void done(Connection& connection) {
    auto const found = judged_.find(connection.number);
    for (JudgedSide& side : found->second) {
      if (connection.later != 0) {
        add_rest(connection, side);
      }
      print(side);
    }
    judged_.erase(found);
  }

  void scenario() {
    static Scenario scenario;
    scenario = load_scenario(options_.scenario);
    CaptureFlows const capture = read_flows(options_.capture);
    Flow const flow = flow_of(capture, scenario, options_.capture);
    JudgedSide side = side_of(replay_flow(flow, scenario.device, &scenario));
    heading_ = fmt::format("{}: {}, {}{}\n", options_.capture, counted(capture.packets, "packet"),
                           counted(capture.flows.size(), "TCP flow"), not_replayed(capture.kinds));
    print(side);
    warning = capture.warning;
  }

  void capture() {
    ConnectionReader reader({}, {[&](Connection& connection) { judge(connection); },
                                 [&](Connection& connection) { done(connection); }});
    reader.read(options_.capture);
    tools::expect_tcp(options_.capture, reader.packets(), reader.kinds());
    if (device_ && sides_ == 0) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}: no TCP segment from or to {}: leave --device out to see the "
                                "addresses",
                                options_.capture, device_->text));
    }
    heading_ = fmt::format("{}: {}, {}{}\n", options_.capture, counted(reader.packets(), "packet"),
                           counted(reader.connections(), "TCP flow"), not_replayed(reader.kinds()));
    warning = reader.warning();
  }

  int finish() {
    fmt::print("{}{} agree, {} differ as allowed, {} violate, {} cannot be told", heading_,
               counts_[0], counts_[1], counts_[2], counts_[3]);
    fmt::print("{}\n", counts_[4] != 0 ? fmt::format(", our TCP differs in {}", counts_[4]) : "");
    if (counts_[4] != 0) {
      fmt::print("our TCP violates a requirement: a bug in Lockstep; please report it\n");
    }
    bool const found = counts_[2] != 0 || counts_[4] != 0 || fault_;
    return static_cast<int>(found ? ExitCode::finding : ExitCode::fine);
  }

  std::string warning;

 private:
  bool is_named(const Endpoint& side) const {
    return side.address == device_->address && (!device_->port || side.port == *device_->port);
  }

  /// Another TCP plays the side; what it has sent is then judged as a capture.
  JudgedSide side_on_device(const Flow& flow, const Endpoint& side) {
    Script const script = make_script(flow, flow, side, nullptr);
    Replayed replayed;
    replayed.script.device = script.device;
    replayed.script.peer = script.peer;
    replayed.verdict.judgement = Judgement::cannot_tell;
    replayed.verdict.reason = script.cannot_tell;
    if (!script.cannot_tell.empty()) {
      return side_of(replayed);
    }
    std::vector<std::string> notes;
    try {
      DevicePeer peer(other_);
      DevicePlay const play = play_on(peer, script);
      notes = play.notes;
      replayed.verdict.reason = play.cannot_tell;
      Flow played = flow_of(play, number_);
      outputs_.add(play, device_name(other_));
      if (played.segments.empty() && play.cannot_tell.empty()) {
        replayed.verdict.reason = "neither side sent anything";
      } else if (play.cannot_tell.empty()) {
        normalise(played);
        replayed = judge_play(play, played);
      }
    } catch (const DeviceFault& fault) {
      replayed.verdict.reason = fault.what();
      fault_ = true;
    }
    replayed.script.notes.insert(replayed.script.notes.end(), notes.begin(), notes.end());
    JudgedSide out = side_of(replayed);
    if (outputs_.writes_json()) {
      out.json["played_by"] = device_name(other_);
    }
    return out;
  }

  JudgedSide side_of(const Replayed& replayed) {
    outputs_.add(replayed);
    return {replayed.script.device, replayed.script.peer,      replayed.verdict,
            replayed.script.notes,  divergence_text(replayed), outputs_.json_of(replayed)};
  }

  /// Adds the findings on packets after the replayed part, which were only checked.
  void add_rest(const Connection& connection, JudgedSide& side) const {
    side.notes.push_back(
        fmt::format("replayed up to packet {}; the {} after it were checked without replay",
                    connection.judged_until, counted(connection.later, "packet")));
    std::vector<Finding> const late =
        connection.watch.findings(side.device, connection.judged_until);
    if (!late.empty()) {
      Verdict rest;
      add_findings(rest, {}, late);
      side.text += violations_text(rest);
      add_findings(side.verdict, {}, late);
      if (outputs_.writes_json()) {
        add_later(side.verdict, rest, side.json);
      }
    }
  }

  void print(JudgedSide& side) {
    ++sides_;
    ++counts_.at(static_cast<std::size_t>(side.verdict.judgement));
    fmt::print("{} ({}) and {}: {}\n", text_of(side.device),
               other_.empty() ? "device" : device_name(other_), text_of(side.peer),
               verdict_text(side.verdict));
    for (const std::string& note : side.notes) {
      fmt::print("  {}\n", note);
    }
    fmt::print("{}", side.text);
    if (outputs_.writes_json()) {
      side.json["notes"] = side.notes;
      outputs_.add(std::move(side.json));
    }
  }

  const ReplayOptions& options_;
  Outputs& outputs_;
  std::optional<DeviceName> device_;
  std::filesystem::path other_;
  bool fault_ = false;        ///< a device broke its interface
  std::uint64_t number_ = 0;  ///< of the last packet of all plays of a device
  std::map<std::uint64_t, std::vector<JudgedSide>> judged_;
  std::uint64_t next_ = 0, sides_ = 0;
  std::array<std::uint64_t, 5> counts_{};
  std::string heading_;
};

int run_replay(const ReplayOptions& options) {
  static_cast<void>(CaptureReader(options.capture));  // fails before any file is created
  Outputs outputs(options);
  Session session(options, outputs);
  if (options.scenario.empty()) {
    session.capture();
  } else {
    session.scenario();
  }
  outputs.write(session.warning);
  if (!session.warning.empty()) {
    fmt::print(stderr, "lockstep: {}\n", session.warning);
  }
  return session.finish();
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
  request.folder = options.folder;
  if (options.frames) {
    request.on_line = [](const std::string& line) { fmt::print("{}\n", line); };
  }
  return request;
}

void add_journal_options(CLI::App& verb, ReplayOptions& options, CLI::Option* capture) {
  verb.add_option("--until", options.until,
                  "journal only: stop this long after the first turn, like 1.5s")
      ->excludes(capture);
  verb.add_option("--turns", options.turns, "journal only: stop after this number of turns")
      ->excludes(capture);
  verb.add_option("--folder", options.folder,
                  "journal only: the files that were served, if it has only their hash")
      ->excludes(capture);
  verb.add_flag("--frames", options.frames, "journal only: print a line for each replayed frame")
      ->excludes(capture);
  verb.add_flag("--inspect", options.inspect,
                "journal only: print the state of each connection where the replay stopped")
      ->excludes(capture);
}

}  // namespace

void register_replay(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "replay", "Replays a capture with our TCP as one side, and compares what each had to send");
  auto const options = std::make_shared<ReplayOptions>();
  CLI::Option* const capture = verb->add_option("capture", options->capture,
                                                "a pcap or pcapng file, also compressed by gzip; "
                                                "- for standard input");
  CLI::Option* const journal = verb->add_option(
      "--journal", options->journal,
      "instead of a capture: a journal written by --record of `lockstep serve` or `load`");
  journal->excludes(capture);
  verb->add_option("--device", options->devices,
                   "the side to replace, as address or address:port (default: each in turn); or "
                   "another TCP to replace it by, one of `lockstep devices` or the path of one "
                   "(default: ours); or both, each with --device")
      ->allow_extra_args(false)
      ->excludes(journal);
  verb->add_option(
          "--scenario", options->scenario,
          "a scenario.toml with device, configuration and the application's calls (default: "
          "inferred from the capture)")
      ->excludes(journal);
  verb->add_option("--json", options->json, "also write the verdicts to this file");
  verb->add_option(
      "--pcapng", options->pcapng,
      "also write the replayed packets to this file, with TCP state as packet comments");
  add_journal_options(*verb, *options, capture);
  verb->footer(
      "Each side of each flow gets a verdict: agrees; differs, allowed (and by which rule);\n"
      "violates (and which requirement); cannot tell (and why); core differs: our TCP is wrong.\n"
      "Exit code 1: a side violates, our TCP is wrong, or a frame differs from the journal.\n"
      "Example: lockstep replay web.pcapng --device 192.0.2.7\n"
      "         lockstep replay web.pcapng --device 192.0.2.7 --device lwip\n"
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
