// A single stack with its virtual clock: packets and calls go in, packets and events come out.
#include "tools/python/solo.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "core/units/hash.hpp"
#include "core/wire/checksum.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/python/failed_check.hpp"

namespace lockstep::tools::python {
namespace {

constexpr std::uint32_t turns_max = 100'000;

/// A snapshot begins with little-endian words: this magic, a hash of the rest, the rest.
constexpr std::uint64_t magic = 0x4c53'5059'0000'0002;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);
/// Of the checksum tables of bound regions.
constexpr std::uint32_t stride_bytes = 64;

class Writer {
 public:
  void word(std::uint64_t value) {
    for (std::size_t i = 0; i < word_bytes; ++i) {
      bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
  }
  void id(ConnectionId value) { word(std::uint64_t{value.slot} << 32 | value.generation); }
  void id(ListenerId value) { word(std::uint64_t{value.slot} << 32 | value.generation); }
  void endpoint(const Endpoint& value) {
    word(value.address.high);
    word(value.address.low);
    word(value.port.value);
  }

  std::vector<std::byte> bytes;
};

}  // namespace

class SnapshotReader {
 public:
  explicit SnapshotReader(std::span<const std::byte> from) : rest(from) {}

  /// 0 at the end.
  std::uint64_t word() {
    std::uint64_t value = 0;
    if (rest.size() < word_bytes) {
      return value;
    }
    for (std::size_t i = 0; i < word_bytes; ++i) {
      value |= std::to_integer<std::uint64_t>(rest[i]) << (8 * i);
    }
    rest = rest.subspan(word_bytes);
    return value;
  }
  template <class Id>
  Id id() {
    std::uint64_t const value = word();
    return {static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(value)};
  }
  Endpoint endpoint() {
    Endpoint out;
    out.address.high = word();
    out.address.low = word();
    out.port.value = static_cast<std::uint16_t>(word());
    return out;
  }

  std::span<const std::byte> rest;
};

namespace {

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  SecretHash hash({magic, bytes.size()});
  while (bytes.size() >= word_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), word_bytes);
    hash.add(word);
    bytes = bytes.subspan(word_bytes);
  }
  for (std::byte octet : bytes) {
    hash.add(std::to_integer<std::uint64_t>(octet));
  }
  return hash.finish();
}

void write_event(Writer& out, const TimedEvent& timed) {
  out.word(timed.at.ns);
  out.word(static_cast<std::uint64_t>(timed.event.kind) << 8 |
           static_cast<std::uint64_t>(timed.event.cause));
  out.id(timed.event.id);
  out.id(timed.event.listener);
  out.word(timed.event.bytes.count);
}

TimedEvent read_event(SnapshotReader& in) {
  TimedEvent out;
  out.at.ns = in.word();
  std::uint64_t const what = in.word();
  out.event.kind = static_cast<EventKind>(what >> 8);
  out.event.cause = static_cast<Cause>(what & 0xff);
  out.event.id = in.id<ConnectionId>();
  out.event.listener = in.id<ListenerId>();
  out.event.bytes.count = static_cast<std::uint32_t>(in.word());
  return out;
}

}  // namespace

void Solo::Port::commit(const Egress& egress) {
  auto const frame = std::span(room).first(egress.length);
  sent->push_back({clock, {frame.begin(), frame.end()}});
  if (judge != nullptr) {
    judge->left(clock, frame);
  }
}

Solo::Solo(const Config& config, Instant start, std::uint64_t seed)
    : seed_(seed), arena_(Stack::arena_bytes(config)), stack_(config, arena_.span()) {
  port_.clock = start;
  port_.room.resize(config.mtu.count + 64);
  turn(stack_, port_, *this);  // sets the stack's clock
}

Stack& Solo::stack() {
  note_stack(seed_, port_.clock);
  return stack_;
}

void Solo::judge() { port_.judge = std::make_unique<Judge>(stack_.config()); }

std::vector<Wrong> Solo::wrongs() const {
  return port_.judge == nullptr ? std::vector<Wrong>{} : port_.judge->found();
}

std::optional<RegionId> Solo::bind(std::span<const std::byte> content) {
  if (bound_.size() >= stack_.config().regions_max.value) {
    return std::nullopt;
  }
  RegionId const region{static_cast<std::uint32_t>(bound_.size())};
  Bound& bound = bound_.emplace_back();
  bound.content = content;
  bound.hash = hash_of(content);
  bound.sums.resize(wire::checksum_table_entries(content.size(), stride_bytes));
  stack().bind(region, content, wire::build_checksum_table(content, bound.sums, stride_bytes));
  return region;
}

Taken Solo::lend(ConnectionId id, Payload payload, More more) {
  return stack().lend(id, payload, more);
}

void Solo::on_event(Stack& stack, const Event& event) {
  inbox_.on_event(stack, {port_.clock, event});
}

void Solo::receive(std::span<const Packet> packets) {
  note_stack(seed_, port_.clock);
  std::uint32_t const most = stack_.config().burst_frames.value;
  for (Packet const& packet : packets) {
    if (packet.size() > packet_bytes_max) {
      throw Failure(ExitCode::bad_input, fmt::format("a packet has {} bytes, expected {} at most",
                                                     packet.size(), packet_bytes_max));
    }
  }
  std::vector<Ingress> burst;
  while (!packets.empty()) {
    auto const now = packets.first(std::min<std::size_t>(packets.size(), most));
    burst.clear();
    for (Packet const& packet : now) {
      burst.push_back({packet, Checksum::unknown, port_.clock});
      if (port_.judge != nullptr) {
        port_.judge->arrived(port_.clock, packet);
      }
    }
    port_.arrived = burst;
    turn(stack_, port_, *this);
    packets = packets.subspan(now.size());
  }
}

void Solo::drain(std::vector<Sent>& into) {
  note_stack(seed_, port_.clock);
  port_.sent = &into;
  bool settled = false;
  for (std::uint32_t i = 0; i < turns_max && !settled; ++i) {
    bool const idle = turn(stack_, port_, *this) == Outcome::idle;
    settled = idle && !stack_.wants_transmit();
  }
  port_.sent = nullptr;
  if (!settled) {
    throw Failure(ExitCode::finding, fmt::format("{} turns at one instant did not end", turns_max));
  }
}

std::vector<Sent> Solo::transmit() {
  std::vector<Sent> out;
  drain(out);
  return out;
}

std::vector<Sent> Solo::advance_to(Instant to) {
  std::vector<Sent> out;
  drain(out);
  while (stack_.deadline() <= to && port_.clock < to) {
    port_.clock = later(port_.clock, stack_.deadline());
    drain(out);
    if (out.size() > packets_max) {
      throw Failure(ExitCode::finding, fmt::format("more than {} packets were sent, expected "
                                                   "fewer: advance by less",
                                                   packets_max));
    }
  }
  port_.clock = later(port_.clock, to);
  drain(out);
  return out;
}

std::vector<std::byte> Solo::snapshot() const {
  inbox_.refuse_sockets();
  Writer body;
  body.word(port_.clock.ns);
  body.word(bound_.size());
  for (Bound const& each : bound_) {
    body.word(each.content.size());
    body.word(each.hash);
  }
  body.word(inbox_.events_lost);
  body.word(inbox_.known.size());
  for (auto const& [slot, known] : inbox_.known) {
    body.id(ConnectionId{slot, known.generation});
    body.endpoint(known.tuple.local);
    body.endpoint(known.tuple.remote);
  }
  body.word(inbox_.accepted.size());
  for (ConnectionId id : inbox_.accepted) {
    body.id(id);
  }
  body.word(inbox_.events.size());
  for (TimedEvent const& each : inbox_.events) {
    write_event(body, each);
  }
  std::size_t const before = body.bytes.size();
  body.bytes.resize(before + stack_.snapshot_bytes());
  stack_.snapshot(std::span(body.bytes).subspan(before));
  Writer out;
  out.word(magic);
  out.word(hash_of(body.bytes));
  out.bytes.insert(out.bytes.end(), body.bytes.begin(), body.bytes.end());
  return std::move(out.bytes);
}

/// Whether the regions bound when the snapshot was made hold the same bytes here.
bool Solo::holds_regions(SnapshotReader& in) const {
  std::uint64_t const count = in.word();
  bool same = count <= bound_.size();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t const size = in.word();
    std::uint64_t const hash = in.word();
    same = same && size == bound_[i].content.size() && hash == bound_[i].hash;
  }
  return same;
}

bool Solo::restore(std::span<const std::byte> from) {
  inbox_.refuse_sockets();
  SnapshotReader in(from);
  if (in.word() != magic || in.word() != hash_of(in.rest)) {
    return false;
  }
  // The hash has verified the counts.
  Instant const now{in.word()};
  if (!holds_regions(in)) {
    return false;
  }
  Inbox then;
  then.events_lost = in.word();
  for (std::uint64_t left = in.word(); left != 0; --left) {
    auto const id = in.id<ConnectionId>();
    Endpoint const local = in.endpoint();
    then.known[id.slot] = {id.generation, {local, in.endpoint()}};
  }
  then.accepted.resize(in.word());
  std::ranges::generate(then.accepted, [&] { return in.id<ConnectionId>(); });
  then.events.resize(in.word());
  std::ranges::generate(then.events, [&] { return read_event(in); });
  if (stack_.restore(in.rest) != Refusal::none) {
    return false;
  }
  port_.clock = now;
  inbox_ = std::move(then);
  return true;
}

}  // namespace lockstep::tools::python
