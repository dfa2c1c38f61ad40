// Plays an input on a device, under the oracle.
#include "conformance/compare/play.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "core/wire/ipv4.hpp"
#include "sim/models/raw_packets.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::compare {
namespace {

constexpr Instant origin{1'000'000'000'000};
constexpr std::uint16_t active_port = 32'771;
constexpr std::uint32_t turns_most = 4'000;
constexpr std::uint64_t read_most = 65'536;
constexpr std::uint16_t rare_timeout = 0x8064;  // 100 minutes
constexpr Duration settle_time = Duration::milliseconds(1'250);
constexpr Duration patience_time = Duration::seconds(70);

const IpAddress device_address = IpAddress::v4(10, 0, 0, 1);
const IpAddress tester_address = IpAddress::v4(10, 0, 0, 2);

/// What every device is created with. Ours gets small pools, so that creating it costs little.
std::string setup_lines(bool ours) {
  std::string out = fmt::format(
      "local=10.0.0.1\nremote=10.0.0.2\nmtu=1500\nseed=1\nstart={}\nprofile=rfc\n", origin.ns);
  if (ours) {
    for (const char* const pool :
         {"connections_max=8", "active_max=8", "time_wait_max=8", "listeners_max=8",
          "extents_max=256", "pieces_max=512", "blocks_max=256", "owed_max=64", "sent_max=512",
          "marks_max=64", "fast_open_cache_max=4", "paths_max=4", "neighbours_max=4",
          "regions_max=1"}) {
      out += pool;
      out += '\n';
    }
  }
  return out;
}

class Player {
 public:
  Player(Host& host, const Input& input, bool ours, bool with_events)
      : host_(host),
        input_(input),
        with_events_(with_events),
        oracle_({input.opening,
                 {device_address,
                  input.opening == Opening::connects ? Port{active_port} : compare_device_port},
                 {tester_address,
                  input.opening == Opening::connects ? compare_device_port : compare_tester_port},
                 compare_closed_port,
                 Duration{host.grain_ns() == 1 ? 0 : host.grain_ns()},
                 ours}) {}

  void create(bool ours) {
    DeviceAnswer const made = host_.ask(LOCKSTEP_CALL_CREATE, 0, 0, setup_lines(ours));
    if (made.result < 0) {
      throw tools::Failure(tools::ExitCode::bad_input,
                           fmt::format("device {}: create: {}", host_.name(), made.octets));
    }
  }

  void run() {
    if (input_.opening == Opening::listens) {
      listener_ = host_.ask(LOCKSTEP_CALL_LISTEN, compare_device_port.value, 4).result;
    } else if (input_.opening == Opening::connects) {
      connection_ = host_.ask(LOCKSTEP_CALL_CONNECT, active_port, compare_device_port.value).result;
      settle();
    }
    for (Step const& step : input_.steps) {
      pass(Duration::milliseconds(step.after_ms));
      carry_out(step);
      settle();
    }
    pass(settle_time);
    phase_ = Event::Phase::drain;
    drain();
    settle();
    phase_ = Event::Phase::patience;
    if (oracle_.awaits_retransmission()) {
      pass(patience_time);
    }
    oracle_.end(now_);
  }

  void report(Played& out) {
    out.broken |= oracle_.broken();
    for (std::size_t i = 0; i < all_rules; ++i) {
      if (oracle_.broken().test(i)) {
        out.details[i] = oracle_.detail_of(i);
      }
    }
    out.outcome = oracle_.outcome();
    out.first_of_device = oracle_.first_of_device().value_or(0);
    out.events = std::move(events_);
  }

 private:
  void take(const DeviceAnswer& answer) {
    now_ = later(now_, Instant{} + Instant{answer.now}.since(origin));
    for (std::vector<std::byte> const& packet : answer.packets) {
      if (with_events_) {
        events_.push_back({Event::Kind::left, phase_, now_, packet, {}, {}, 0, 0});
      }
      oracle_.left(now_, packet);
    }
  }

  std::uint64_t device_time(Instant at) const { return origin.ns + at.ns; }

  void advance_to(Instant until) {
    for (std::uint32_t i = 0; i < turns_most; ++i) {
      DeviceAnswer const answer = host_.ask(LOCKSTEP_CALL_ADVANCE, device_time(until));
      take(answer);
      if (answer.packets.empty() && now_ >= until) {
        return;
      }
    }
    throw DeviceFault(fmt::format("device {}: advance: it sends without end", host_.name()));
  }
  void settle() { advance_to(now_); }
  void pass(Duration time) {
    if (time.ns != 0) {
      advance_to(now_ + time);
    }
  }

  void note(const char* call, std::uint64_t argument, std::int64_t result) {
    if (with_events_) {
      events_.push_back({Event::Kind::called, phase_, now_, {}, {}, call, argument, result});
    }
  }

  /// Accepts the connection if there is one. False: there is no connection to call on.
  bool has_connection() {
    if (connection_ <= 0 && listener_ > 0) {
      connection_ = host_.ask(LOCKSTEP_CALL_ACCEPT, static_cast<std::uint64_t>(listener_)).result;
      if (connection_ > 0) {
        note("accept", 0, connection_);
        oracle_.accepted(now_);
      }
    }
    return connection_ > 0 && !closed_;
  }

  /// Whether more may be read.
  bool read(std::uint64_t most) {
    DeviceAnswer const got =
        host_.ask(LOCKSTEP_CALL_RECEIVE, static_cast<std::uint64_t>(connection_), most);
    if (got.result >= 0 || got.result == LOCKSTEP_DEVICE_AGAIN) {
      note("receive", most, got.result);
    }
    if (got.result > 0) {
      oracle_.read(now_, got.octets);
    } else if (got.result == 0) {
      oracle_.read_end(now_);
    }
    return got.result > 0;
  }

  void drain() {
    if (has_connection()) {
      while (read(read_most)) {
      }
      oracle_.drained(now_);
    }
  }

  void write(std::uint32_t octets) {
    std::string data;
    for (std::uint32_t i = 0; i < octets; ++i) {
      data += static_cast<char>(compare_octet(written_ + i));
    }
    DeviceAnswer const done =
        host_.ask(LOCKSTEP_CALL_SEND, static_cast<std::uint64_t>(connection_), 0, data);
    if (done.result > 0) {
      note("send", octets, done.result);
      written_ += static_cast<std::uint32_t>(done.result);
      oracle_.wrote(static_cast<std::uint64_t>(done.result));
    }
  }

  void end(lockstep_device_call call) {
    if (finished_ && call == LOCKSTEP_CALL_FINISH) {
      return;
    }
    DeviceAnswer const done = host_.ask(call, static_cast<std::uint64_t>(connection_));
    note(call == LOCKSTEP_CALL_CLOSE ? "close" : "finish", 0, done.result);
    finished_ = true;
    if (call == LOCKSTEP_CALL_CLOSE) {
      closed_ = true;
      oracle_.closed();
    } else {
      oracle_.finished();
    }
  }

  void carry_out(const Step& step) {
    if (step.act == Act::segment) {
      send(step.piece);
    } else if (step.act != Act::wait && has_connection()) {
      switch (step.act) {
        case Act::send:
          write(step.octets);
          break;
        case Act::receive:
          read(step.octets);
          break;
        case Act::finish:
          end(LOCKSTEP_CALL_FINISH);
          break;
        default:
          end(LOCKSTEP_CALL_CLOSE);
          break;
      }
    }
  }

  wire::Segment segment_of(const Piece& piece) const {
    bool const connects = input_.opening == Opening::connects;
    wire::Segment out;
    out.source = piece.aim == Aim::other_peer ? compare_other_port
                 : connects                   ? compare_device_port
                                              : compare_tester_port;
    out.destination = piece.aim == Aim::closed_port ? compare_closed_port
                      : connects                    ? Port{active_port}
                                                    : compare_device_port;
    out.sequence = Sequence{input_.first + piece.seq};
    out.flags = piece.flags;
    if (piece.flags.ack()) {
      bool const known = piece.aim == Aim::connection;
      std::uint32_t const from = known ? oracle_.first_of_device().value_or(0) : 0;
      out.acknowledgment = Sequence{from + piece.ack};
    }
    out.window = WireWindow{piece.window};
    out.urgent = piece.urgent;
    out.options.has_mss = piece.mss != 0;
    out.options.mss = piece.mss;
    out.options.has_window_scale = piece.scale >= 0;
    out.options.window_scale =
        WindowScale{static_cast<std::uint8_t>(piece.scale < 0 ? 0 : piece.scale)};
    out.options.has_sack_permitted = piece.sack;
    out.options.has_timestamps = piece.stamped;
    out.options.timestamp_value = piece.stamp;
    out.options.has_user_timeout = piece.rare;
    out.options.user_timeout = piece.rare ? rare_timeout : std::uint16_t{0};
    return out;
  }

  void send(const Piece& piece) {
    wire::Segment out = segment_of(piece);
    std::vector<std::byte> data(piece.octets);
    std::uint32_t const begin = out.sequence.value + (piece.flags.syn() ? 1 : 0);
    for (std::uint32_t i = 0; i < piece.octets; ++i) {
      data[i] = compare_octet(begin + i);
    }
    out.payload = data;
    std::vector<std::byte> packet(wire::ipv4_header_bytes + wire::tcp_header_bytes_max +
                                  data.size());
    auto const length = sim::write_segment(out, {tester_address, device_address},
                                           std::span(packet).subspan(wire::ipv4_header_bytes));
    wire::Ipv4Header header;
    header.source = tester_address;
    header.destination = device_address;
    header.protocol = wire::IpProtocol::tcp;
    header.time_to_live = 64;
    wire::write(header, Bytes{static_cast<std::uint32_t>(length)}, packet);
    packet.resize(wire::ipv4_header_bytes + length);
    if (with_events_) {
      events_.push_back({Event::Kind::arrived, phase_, now_, packet, piece, {}, 0, 0});
    }
    oracle_.arrives(now_, packet, out);
    std::string_view const octets(reinterpret_cast<const char*>(packet.data()), packet.size());
    take(host_.ask(LOCKSTEP_CALL_PACKET, 0, 0, octets));
  }

  Host& host_;
  Input const& input_;
  bool with_events_;
  Oracle oracle_;
  Instant now_;
  std::int64_t listener_ = 0, connection_ = 0;
  std::uint32_t written_ = 0;
  bool finished_ = false, closed_ = false;
  Event::Phase phase_ = Event::Phase::steps;
  std::vector<Event> events_;
};

}  // namespace

Played play(Host& host, const Input& input, bool ours, bool with_events) {
  Played out;
  Player player(host, input, ours, with_events);
  try {
    player.create(ours);
    player.run();
  } catch (const DeviceFault& fault) {
    out.fault = fault.what();
    out.broken.set(index_of(CompareRule::device_broken));
    out.details[index_of(CompareRule::device_broken)] = out.fault;
  }
  player.report(out);
  return out;
}

}  // namespace lockstep::conformance::compare
