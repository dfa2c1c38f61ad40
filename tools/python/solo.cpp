// One stack alone with its virtual clock: packets and calls go in, packets and events come out.
#include "tools/python/solo.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "core/units/hash.hpp"
#include "tools/cli/failure.hpp"
#include "tools/python/refused.hpp"

namespace lockstep::tools::python {
namespace {

constexpr std::uint32_t turns_max = 100'000;

/// Before a stack's own snapshot stand words, little-endian: this, a hash of the rest, the rest.
constexpr std::uint64_t magic = 0x4c53'5059'0000'0001;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);

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

class Reader {
 public:
  explicit Reader(std::span<const std::byte> from) : rest(from) {}

  /// 0 where there is no more.
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

void write_told(Writer& out, const Told& told) {
  out.word(told.at.ns);
  out.word(static_cast<std::uint64_t>(told.event.kind) << 8 |
           static_cast<std::uint64_t>(told.event.cause));
  out.id(told.event.id);
  out.id(told.event.listener);
  out.word(told.event.bytes.count);
}

Told read_told(Reader& in) {
  Told out;
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
}

Solo::Solo(const Config& config, Instant start)
    : arena_(Stack::arena_bytes(config)), stack_(config, arena_.span()) {
  port_.clock = start;
  port_.room.resize(config.mtu.count + 64);
  turn(stack_, port_, *this);  // it knows what time it is
}

void Solo::told(Stack&, const Event& event) {
  if (event.kind == EventKind::accepted) {
    accepted.push_back(event.id);
    learn(event.id);
  }
  if (events.size() == events_max) {
    events.pop_front();
    ++events_lost;
  }
  events.push_back({port_.clock, event});
}

void Solo::learn(ConnectionId id) {
  ConnectionInfo const info = stack_.inspect(id);
  if (info.exists) {
    known_[id.slot] = {id.generation, info.tuple};
  }
}

void Solo::receive(std::span<const Packet> packets) {
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
    }
    port_.arrived = burst;
    turn(stack_, port_, *this);
    packets = packets.subspan(now.size());
  }
}

void Solo::drain(std::vector<Sent>& into) {
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
      throw Failure(ExitCode::finding, fmt::format("more than {} packets left on the way, expected "
                                                   "fewer: advance by less",
                                                   packets_max));
    }
  }
  port_.clock = later(port_.clock, to);
  drain(out);
  return out;
}

ConnectionId Solo::connect(const Open& open) {
  ConnectionId id;
  refuse_unless_none(stack_.connect(open, id), "connect");
  learn(id);
  return id;
}

std::optional<tcp::State> Solo::state(ConnectionId id) const {
  if (ConnectionInfo const info = stack_.inspect(id); info.exists) {
    return info.state;
  }
  auto const found = known_.find(id.slot);
  if (found == known_.end() || id.generation > found->second.generation) {
    return std::nullopt;
  }
  bool const last = id.generation == found->second.generation;
  bool const waits = last && stack_.state_of(found->second.tuple) == tcp::State::time_wait;
  return waits ? tcp::State::time_wait : tcp::State::closed;
}

std::vector<std::byte> Solo::read(ConnectionId id, Bytes most, bool peek) {
  if (!stack_.inspect(id).exists) {
    throw Refused(Refusal::stale_id, "read");
  }
  std::vector<std::byte> out;
  while (out.size() < most.count) {
    auto const some = stack_.readable(id, Bytes{static_cast<std::uint32_t>(out.size())});
    if (some.empty()) {
      break;
    }
    auto const now = some.first(std::min<std::size_t>(some.size(), most.count - out.size()));
    out.insert(out.end(), now.begin(), now.end());
  }
  if (!peek && !out.empty()) {
    stack_.consume(id, Bytes{static_cast<std::uint32_t>(out.size())});
  }
  return out;
}

std::vector<std::byte> Solo::snapshot() const {
  Writer body;
  body.word(port_.clock.ns);
  body.word(events_lost);
  body.word(known_.size());
  for (auto const& [slot, known] : known_) {
    body.id(ConnectionId{slot, known.generation});
    body.endpoint(known.tuple.local);
    body.endpoint(known.tuple.remote);
  }
  body.word(accepted.size());
  for (ConnectionId id : accepted) {
    body.id(id);
  }
  body.word(events.size());
  for (Told const& each : events) {
    write_told(body, each);
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

bool Solo::restore(std::span<const std::byte> from) {
  Reader in(from);
  if (in.word() != magic || in.word() != hash_of(in.rest)) {
    return false;
  }
  // The hash says that the counts are as they were written.
  Instant const now{in.word()};
  std::uint64_t const lost = in.word();
  std::map<std::uint32_t, Known> known;
  for (std::uint64_t left = in.word(); left != 0; --left) {
    auto const id = in.id<ConnectionId>();
    Endpoint const local = in.endpoint();
    known[id.slot] = {id.generation, {local, in.endpoint()}};
  }
  std::deque<ConnectionId> accepted_then(in.word());
  std::ranges::generate(accepted_then, [&] { return in.id<ConnectionId>(); });
  std::deque<Told> events_then(in.word());
  std::ranges::generate(events_then, [&] { return read_told(in); });
  if (stack_.restore(in.rest) != Refusal::none) {
    return false;
  }
  port_.clock = now;
  events_lost = lost;
  known_ = std::move(known);
  accepted = std::move(accepted_then);
  events = std::move(events_then);
  return true;
}

}  // namespace lockstep::tools::python
