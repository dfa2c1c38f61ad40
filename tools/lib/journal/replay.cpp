// Plays records in order: turns through turn(), stops to the application.
#include "tools/lib/journal/replay.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/stack/turn.hpp"
#include "sim/kernel/pcapng.hpp"
#include "tools/base/capture/decode.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/journal/flight_recorder.hpp"
#include "tools/lib/journal/http_parts.hpp"
#include "tools/lib/journal/load_parts.hpp"
#include "tools/lib/journal/mend_checksum.hpp"
#include "tools/lib/load/client.hpp"

namespace lockstep::journal {
namespace {

using tools::ExitCode;
using tools::Failure;

struct Line {
  alignas(64) std::array<std::byte, 64> bytes;
};

/// The stack and the application of a journal, recreated.
template <class App>
class World {
 public:
  /// Constructs the application from `arguments`.
  template <class... Arguments>
  explicit World(const Config& config, const Arguments&... arguments)
      : memory_(Stack::arena_bytes(config) / sizeof(Line) + 1),
        stack(config, std::as_writable_bytes(std::span(memory_))),
        app(arguments..., config.tcp.connections_max) {}

 private:
  std::vector<Line> memory_;

 public:
  Stack stack;
  App app;
};

/// Writes the frames of a replay to a capture.
class Capture {
 public:
  Capture(const std::string& path, const Run& run)
      : file_(path), writer_(file_), offset_{run.started_unix_ns}, link_(run.config.link) {
    bool const ethernet = link_ == LinkType::ethernet;
    writer_.interface(ethernet ? sim::CaptureLink::ethernet : sim::CaptureLink::raw_ip,
                      run.interface);
  }
  void arrived(const FrameIn& frame) {
    std::vector<std::byte> bytes = frame.bytes;
    if (frame.checksum == Checksum::good) {
      mend_checksum(bytes, link_);
    }
    add(frame.arrived, sim::CaptureWay::inbound, bytes);
  }
  void sent(Instant at, std::span<const std::byte> frame) {
    add(at, sim::CaptureWay::outbound, frame);
  }
  void keep() { file_.keep(); }

 private:
  void add(Instant at, sim::CaptureWay way, std::span<const std::byte> bytes) {
    writer_.packet({0, at + offset_, way, bytes, {}});
  }

  tools::AtomicFile file_;
  sim::PcapngWriter writer_;
  Duration offset_;
  LinkType link_;
};

std::string frame_text(std::span<const std::byte> frame, LinkType link) {
  tools::CapturedFrame captured;
  captured.bytes.assign(frame.begin(), frame.end());
  captured.original_bytes = static_cast<std::uint32_t>(frame.size());
  auto const decoded = tools::decode(
      captured, link == LinkType::ethernet ? tools::LinkLayer::ethernet : tools::LinkLayer::raw_ip);
  if (decoded.kind != tools::FrameKind::tcp) {
    return fmt::format("{} octets, {}", frame.size(), name_of(decoded.kind));
  }
  tools::Segment const& s = decoded.segment;
  return fmt::format("{} octets, {} to {} {} seq {} ack {} payload {}", frame.size(),
                     tools::text_of(s.source), tools::text_of(s.destination),
                     tools::flags_text(s.flags), s.sequence, s.acknowledgment, s.data_bytes());
}

template <class App>
class Player {
 public:
  /// `world` has not run yet.
  Player(Reader& reader, const ReplayRequest& request, ReplayResult& result, Capture* capture,
         World<App>& world)
      : reader_(reader),
        request_(request),
        result_(result),
        capture_(capture),
        world_(world),
        watched_(world.app),
        playback_(world.stack.config().mtu.count + 18),
        burst_max_(world.stack.config().burst_frames) {
    playback_.on_sent = [this](std::span<const std::byte> frame) {
      tell("out", frame);
      if (capture_ != nullptr) {
        capture_->sent(playback_.now(), frame);
      }
    };
  }

  void play() {
    Record record;
    while (!playback_.divergence() && !result_.stopped && reader_.next(record)) {
      if (record.edited && !result_.edited_record) {
        result_.edited_record = record.number;
      }
      step(record);
    }
    result_.tail = reader_.tail();
    result_.tail_offset = reader_.offset();
    result_.divergence = playback_.divergence();
    result_.turns = playback_.turns();
    result_.frames_out = playback_.frames_out();
    if (request_.inspect) {
      result_.connections = watched_.connections(world_.stack);
    }
  }

 private:
  void tell(std::string_view way, std::span<const std::byte> frame) const {
    if (request_.on_line) {
      request_.on_line(fmt::format("{:>14} turn {} {:<3} {}",
                                   tools::text_of(playback_.now().since(first_)), playback_.turns(),
                                   way, frame_text(frame, world_.stack.config().link)));
    }
  }
  void tell_order(std::string_view order, Instant at) const {
    if (request_.on_line) {
      request_.on_line(fmt::format("{:>14} {}", tools::text_of(at.since(first_)), order));
    }
  }

  bool is_behind_the_end(const Turn& next) const {
    return (request_.turns && playback_.turns() >= *request_.turns) ||
           (request_.until && next.now.since(first_) > *request_.until);
  }

  [[noreturn]] void refuse(std::uint64_t record, const std::string& why) const {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: record {}: {}: the file was changed, record it again",
                              reader_.path(), record, why));
  }

  void step(const Record& record) {
    std::uint64_t number = 0;
    if (record.kind == Kind::snapshot) {
      restore(record);
      return;
    }
    bool const single = record.kind != Kind::turn;
    if (single && !parse_number(record, number)) {
      refuse(record.number, "its length does not fit its kind");
    }
    switch (record.kind) {
      case Kind::turn:
        play_turn(record);
        break;
      case Kind::stop:
        tell_order("the application is asked to stop", Instant{number});
        world_.app.stop(world_.stack, Instant{number});
        break;
      case Kind::abandon:
        tell_order("the application aborts what is open", Instant{number});
        world_.app.abandon(world_.stack, Instant{number});
        break;
      case Kind::link_mtu:
        if (number < 68 || number > 65'535) {
          refuse(record.number, fmt::format("an MTU of {}, expected 68 to 65535", number));
        }
        tell_order(fmt::format("the link's MTU is {}", number), playback_.now());
        world_.stack.set_link_mtu(Bytes{static_cast<std::uint32_t>(number)});
        break;
      case Kind::end:
        finish(number);
        break;
      default:
        refuse(record.number, "its kind is unknown");
    }
  }

  void restore(const Record& record) {
    SnapshotParts parts;
    if (!parse_snapshot(record.fields, parts) || playback_.turns() != 0 ||
        world_.stack.restore(parts.stack) != Refusal::none || !restore_app(parts.application)) {
      refuse(record.number, "it holds the state of another build or configuration");
    }
    result_.from_snapshot = true;
  }

  bool restore_app(std::span<const std::byte> from) {
    if constexpr (requires(App& app) { app.restore(from); }) {
      return world_.app.restore(from);
    } else {
      return false;
    }
  }

  void play_turn(const Record& record) {
    if (!parse_turn(record, turn_)) {
      refuse(record.number, "its fields do not fit its length");
    }
    // turn() requires these of a driver.
    if (turn_.now < last_ || turn_.in.size() > burst_max_.value) {
      refuse(record.number, "time runs backwards, or more frames arrive than a turn takes");
    }
    first_ = playback_.turns() == 0 ? turn_.now : first_;
    if (is_behind_the_end(turn_)) {
      result_.stopped = true;
      return;
    }
    last_ = turn_.now;
    result_.lasted = last_.since(first_);
    result_.frames_in += turn_.in.size();
    playback_.start(turn_);
    for (const FrameIn& frame : turn_.in) {
      tell("in", frame.bytes);
      if (capture_ != nullptr) {
        capture_->arrived(frame);
      }
    }
    static_cast<void>(turn(world_.stack, playback_, watched_));
    playback_.finish();
  }

  void finish(std::uint64_t fingerprint) {
    result_.ended = true;
    if (fingerprint != world_.stack.fingerprint()) {
      result_.state_differs = fmt::format("fingerprint {:016x}, recorded {:016x}",
                                          world_.stack.fingerprint(), fingerprint);
    }
  }

  Reader& reader_;
  const ReplayRequest& request_;
  ReplayResult& result_;
  Capture* capture_;
  World<App>& world_;
  Watched<App> watched_;
  Playback playback_;
  Count burst_max_;
  Turn turn_;
  Instant first_;
  Instant last_;
};

std::string text_of(const Divergence& found, LinkType link) {
  std::string const recorded =
      found.recorded
          ? fmt::format("{} octets with hash {:016x}", found.recorded->length, found.recorded->hash)
          : "no frame";
  std::string const replayed = found.replayed ? frame_text(*found.replayed, link) : "no frame";
  return fmt::format("frame {} sent, in turn {} at {}: recorded {}, replayed {}", found.frame,
                     found.turn, tools::text_of(found.at.since(Instant{})), recorded, replayed);
}

/// Plays the rest of a journal to the server of its first records.
template <class App, class... Arguments>
void play_server(Reader& reader, const ReplayRequest& request, ReplayResult& result,
                 Capture* capture, const Config& config, const Arguments&... arguments) {
  World<App> world(config, arguments...);
  if (Refusal const refused = world.app.start(world.stack); refused != Refusal::none) {
    refuse_parts(reader, fmt::format("the server cannot listen: {}", name_of(refused)));
  }
  Player<App>(reader, request, result, capture, world).play();
}

void play_load(Reader& reader, const ReplayRequest& request, ReplayResult& result, Capture* capture,
               const Begin& begin) {
  http::Site site;
  site.complete();
  World<load::Client> world(begin.run.config, read_plan(reader, begin), site);
  world.app.start(world.stack);
  Player<load::Client>(reader, request, result, capture, world).play();
}

void play(Reader& reader, const ReplayRequest& request, ReplayResult& result, Capture* capture,
          Begin& begin) {
  const Config& config = begin.run.config;
  if (begin.application == http_application) {
    HttpParts const parts = read_http_parts(reader, begin, request.folder);
    play_server<http::Server>(reader, request, result, capture, config, *parts.site, parts.server);
  } else if (begin.application == load_application) {
    play_load(reader, request, result, capture, begin);
  } else if (begin.application == echo_application) {
    play_server<load::EchoServer>(reader, request, result, capture, config,
                                  read_echo(reader, begin));
  } else if (begin.application == memcached_application) {
    play_server<load::CacheServer>(reader, request, result, capture, config,
                                   read_cache(reader, begin));
  } else {
    refuse_parts(reader, "the application is unknown to this program");
  }
}

}  // namespace

ReplayResult replay_journal(const ReplayRequest& request) {
  tools::refuse_overwrite(request.journal, request.pcapng);
  Reader reader(request.journal);
  ReplayResult result;
  Begin begin = read_begin(reader);
  result.link = begin.run.config.link;
  std::unique_ptr<Capture> capture;
  if (!request.pcapng.empty()) {
    capture = std::make_unique<Capture>(request.pcapng, begin.run);
  }
  play(reader, request, result, capture.get(), begin);
  if (begin.edited) {
    result.edited_record = 1;
  }
  if (capture != nullptr) {
    capture->keep();
  }
  return result;
}

std::string text_of(const ReplayResult& result, const std::string& path) {
  std::string out =
      fmt::format("{}: {} turns over {}, {} frames in, {} frames out\n", path,
                  tools::grouped(result.turns), tools::text_of(result.lasted),
                  tools::grouped(result.frames_in), tools::grouped(result.frames_out));
  if (result.stopped) {
    out += "stopped there as requested: the rest was not replayed\n";
  }
  if (result.from_snapshot) {
    out += "it begins with a snapshot of a running stack; earlier turns are not in the journal\n";
  }
  if (result.tail == Tail::torn) {
    out += fmt::format("the file is truncated: the incomplete record at octet {} was ignored\n",
                       result.tail_offset);
  } else if (!result.ended && !result.divergence && !result.stopped) {
    out += "the journal has no end record: the program that wrote it did not end normally\n";
  }
  if (result.edited_record) {
    out +=
        fmt::format("edited: record {} was changed after it was written\n", *result.edited_record);
  }
  if (result.divergence) {
    out += "first divergence: " + text_of(*result.divergence, result.link) + "\n";
  } else {
    out += "every frame sent is identical, octet by octet\n";
  }
  if (result.state_differs) {
    out += "the state at the end differs: " + *result.state_differs + "\n";
  }
  if (result.connections) {
    out += fmt::format("connections: {}\n", result.connections->size());
    if (!result.connections->empty()) {
      out += table_of(*result.connections, tools::terminal_columns());
    }
  }
  return out;
}

std::string json_of(const ReplayResult& result, const std::string& path) {
  nlohmann::ordered_json out;
  out["journal"] = path;
  out["turns"] = result.turns;
  out["frames_in"] = result.frames_in;
  out["frames_out"] = result.frames_out;
  out["lasted_ns"] = result.lasted.ns;
  out["ended"] = result.ended;
  out["from_snapshot"] = result.from_snapshot;
  out["torn_at"] = result.tail == Tail::torn ? nlohmann::ordered_json(result.tail_offset)
                                             : nlohmann::ordered_json(nullptr);
  out["edited_record"] = result.edited_record ? nlohmann::ordered_json(*result.edited_record)
                                              : nlohmann::ordered_json(nullptr);
  out["divergence"] = nullptr;
  if (result.divergence) {
    out["divergence"] = {{"frame", result.divergence->frame},
                         {"turn", result.divergence->turn},
                         {"at_ns", result.divergence->at.ns},
                         {"text", text_of(*result.divergence, result.link)}};
  }
  out["stopped"] = result.stopped;
  if (result.connections) {
    out["connections"] = json_of(*result.connections);
  }
  out["state_differs"] = result.state_differs.has_value();
  out["clean"] = result.clean();
  return tools::json_text(out);
}

int run_journal_replay(const ReplayRequest& request) {
  tools::refuse_overwrite(request.journal, request.json);
  tools::refuse_same_output(request.json, request.pcapng);
  ReplayResult const result = replay_journal(request);
  fmt::print("{}", text_of(result, request.journal));
  if (!request.json.empty()) {
    tools::save_file(request.json, json_of(result, request.journal));
  }
  return static_cast<int>(result.clean() ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::journal
