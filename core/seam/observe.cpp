// What can be seen of a stack without changing it: inspection, fingerprints, snapshots.
#include <cstring>

#include "core/seam/body.hpp"
#include "core/tcp/inspect.hpp"
#include "core/units/check.hpp"

namespace lockstep {
namespace {

struct SnapshotHeader {
  std::uint64_t magic = 0x3170'616e'736b'636c;
  std::uint64_t bytes = 0;
  std::uint64_t config = 0;
};

// Configurations that lay the arena out differently must not be mixed up.
std::uint64_t layout_print(const Stack::Body& b) {
  Fingerprint print;
  print.add(b.state.size());
  print.add(b.config.tcp.block_bytes.count);
  print.add(b.config.mtu.count);
  print.add(b.config.tcp.table_key.first);
  print.add(b.config.tcp.table_key.second);
  for (IpAddress address : b.addresses.all()) {
    print.add(address.high);
    print.add(address.low);
  }
  return print.value();
}

std::uint64_t print_of(Stack::Body& b, bool canonical, Instant origin) {
  tcp::Engine& e = b.engine;
  std::uint64_t total = 0;
  auto fresh = [&] {
    tcp::FieldSink sink;
    sink.canonical = canonical;
    sink.origin = origin;
    return sink;
  };
  // Records are added up, so that in the canonical print their order makes no difference.
  for (tcp::Index at = 0; at < e.connections.high_water(); ++at) {
    if (e.connections.taken(at)) {
      tcp::FieldSink sink = fresh();
      tcp::visit_connection(e, e.connection(at), sink);
      total += sink.value();
    }
  }
  for (tcp::Index at = 0; at < e.time_waits.high_water(); ++at) {
    if (e.time_waits.taken(at)) {
      tcp::FieldSink sink = fresh();
      tcp::visit_time_wait(e, at, sink);
      total += sink.value();
    }
  }
  for (tcp::Index at = 0; at < e.listeners.high_water(); ++at) {
    if (e.listeners.taken(at)) {
      tcp::FieldSink sink = fresh();
      tcp::visit_listener(e, at, sink);
      total += sink.value();
    }
  }
  tcp::FieldSink sink = fresh();
  sink.add(total);
  sink.add(e.replies.count());
  if (!canonical) {
    sink.add(e.state->now);
    sink.add(e.state->ports_drawn);
    sink.add(e.state->challenges_used);
    sink.add(e.pools.blocks.used());
    sink.add(e.pools.pieces.used());
    sink.add(b.statistics->frames_received);
    sink.add(b.statistics->frames_sent);
    sink.add(b.statistics->bytes_sent);
    if (b.has_link()) {
      b.neighbours.visit([&](std::uint64_t value) { sink.add(value); });
    }
  }
  return sink.value();
}

}  // namespace

ConnectionInfo Stack::inspect(ConnectionId id) const { return tcp::inspect(body().engine, id); }

tcp::State Stack::state_of(const FourTuple& tuple) const {
  Body const& b = body();
  std::uint16_t const local = b.addresses.find(tuple.local.address);
  return local == internet::no_address ? tcp::State::closed
                                       : tcp::state_of(b.engine, tuple, local);
}

std::uint64_t Stack::fingerprint() const { return print_of(body(), false, Instant{}); }

std::uint64_t Stack::canonical(Instant now) const { return print_of(body(), true, now); }

std::uint64_t Stack::snapshot_bytes() const {
  return sizeof(SnapshotHeader) + body().state.size();
}

void Stack::snapshot(std::span<std::byte> into) const {
  Body const& b = body();
  CHECK(!b.seam->turn_open);
  CHECK(into.size() >= snapshot_bytes());
  SnapshotHeader header;
  header.bytes = b.state.size();
  header.config = layout_print(b);
  std::memcpy(into.data(), &header, sizeof header);
  std::memcpy(into.data() + sizeof header, b.state.data(), b.state.size());
}

Refusal Stack::restore(std::span<const std::byte> from) {
  Body& b = body();
  CHECK(!b.seam->turn_open);
  SnapshotHeader expected;
  expected.bytes = b.state.size();
  expected.config = layout_print(b);
  if (from.size() < snapshot_bytes() ||
      std::memcmp(from.data(), &expected, sizeof expected) != 0) {
    return Refusal::bad_snapshot;
  }
  std::memcpy(b.state.data(), from.data() + sizeof expected, b.state.size());
  return Refusal::none;
}

void Stack::check_invariants() const {
  tcp::Engine& e = body().engine;
  for (tcp::Index at = 0; at < e.connections.high_water(); ++at) {
    if (e.connections.taken(at)) {
      tcp::check_invariants(e, e.connection(at));
    }
  }
  tcp::check_conservation(e);
}

}  // namespace lockstep
