// Inspection of a stack without changing it: field values, fingerprints, snapshots.
#include <cstring>

#include "core/stack/body.hpp"
#include "core/stack/config_fields.hpp"
#include "core/tcp/inspect.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/units/check.hpp"

namespace lockstep {
namespace {

struct SnapshotHeader {
  std::uint64_t magic = 0x3170'616e'736b'636c;
  std::uint64_t bytes = 0;
  std::uint64_t config = 0;
  std::uint64_t state = 0;
};

// Reveals damage, and bytes that are no snapshot.
std::uint64_t print_of_bytes(std::span<const std::byte> bytes) {
  Fingerprint print;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(bytes.size() - at, sizeof word));
    print.add(word);
  }
  return print.value();
}

std::uint64_t number_of(Mac mac) {
  std::uint64_t number = 0;
  for (std::uint8_t octet : mac.octets) {
    number = number << 8 | octet;
  }
  return number;
}

// Distinguishes configurations for which the arena has a different layout or its content a
// different meaning.
std::uint64_t config_print(const Stack::Body& b) {
  Fingerprint print;
  print.add(b.state.size());
  visit_fields(b.config, [&](std::string_view, Unit, FieldRange, const auto& value) {
    print.add(lockstep::number_of(value));
  });
  tcp::Config const& tcp = b.config.tcp;
  for (HashKey const& key :
       {tcp.table_key, tcp.isn_key, tcp.port_key, tcp.timestamp_key, tcp.fast_open_key}) {
    print.add(key.first);
    print.add(key.second);
  }
  print.add(static_cast<std::uint64_t>(b.config.link));
  print.add(static_cast<std::uint64_t>(tcp.initial_window));
  print.add(static_cast<std::uint64_t>(tcp.fast_recovery));
  print.add(static_cast<std::uint64_t>(tcp.reset_policy));
  print.add(static_cast<std::uint64_t>(tcp.congestion));
  print.add(static_cast<std::uint64_t>(tcp.ecn));
  print.add(static_cast<std::uint64_t>(tcp.option_order));
  print.add(static_cast<std::uint64_t>(tcp.syn_cookies));
  print.add(number_of(b.config.mac));
  print.add(b.config.vlan);
  for (std::uint32_t i = 0; i < b.config.route_count.value; ++i) {
    ConfigRoute const& route = b.config.routes[i];
    for (IpAddress const address : {route.prefix, route.gateway}) {
      print.add(address.high);
      print.add(address.low);
    }
    print.add(route.prefix_bits);
  }
  for (std::uint32_t i = 0; i < b.config.static_neighbour_count.value; ++i) {
    auto const& [address, mac] = b.config.static_neighbours[i];
    print.add(address.high);
    print.add(address.low);
    print.add(number_of(mac));
  }
  print.add(b.config.gateway.high);
  print.add(b.config.gateway.low);
  for (std::uint16_t i = 0; i < b.addresses.count(); ++i) {
    IpAddress const address = b.addresses.all()[i];
    print.add(address.high);
    print.add(address.low);
    print.add(b.addresses.prefix_bits(i));
  }
  return print.value();
}

// State outside of records: rate limits, queued replies, and the order of service.
void visit_shared(const Stack::Body& b, tcp::FieldSink& sink) {
  tcp::Engine const& e = b.engine;
  Instant const now = e.state->now;
  sink.add(later(b.common->echo_rate.unspent, now));
  sink.add(later(b.common->error_rate.unspent, now));
  bool const counting = now.since(e.state->challenge_second) < Duration::seconds(1);
  sink.add(counting ? e.state->challenges_used : 0);
  sink.add(counting && e.state->challenges_used != 0 ? e.state->challenge_second : now);
  sink.add(later(e.state->cookies_until, now));
  if (e.state->spent_until > now) {
    tcp::visit_used_cookies(e, sink);
  }
  sink.add((b.common->reply_went_last ? 1u : 0u) | (b.common->link_answer_went_last ? 2u : 0u));
  tcp::visit_fast_open(e, sink);
  for (internet::Replies const* replies : {&e.replies, &b.parked}) {
    sink.add(replies->count());
    replies->visit([&](const internet::ReplyHeader& header, std::span<const std::byte> bytes) {
      sink.add(header.source);
      sink.add(header.destination);
      sink.add(number_of(header.mac) << 8 | header.protocol);
      sink.add(std::uint64_t{header.time_to_live} << 16 | std::uint64_t{header.traffic_class} << 8 |
               (header.doubtful ? 2u : 0u) | (header.has_mac ? 1u : 0u));
      sink.add(header.length);
      sink.add_bytes(bytes);
    });
  }
  auto const in_order = [&](auto list, auto&& hash_of) {
    sink.add(list.count());
    for (tcp::Index at = list.first(); at != tcp::nil; at = list.next(at)) {
      sink.add(hash_of(at));
    }
  };
  auto const connection = [&](tcp::Index at) { return e.connections[at].hash; };
  auto const active = [&](tcp::Index at) { return e.connections[e.actives[at].owner].hash; };
  in_order(e.ready(), active);
  in_order(e.notify_now(), connection);
  in_order(e.notify_next(), connection);
  in_order(e.half_open_records(), connection);
  in_order(e.time_wait_order(), [&](tcp::Index at) { return e.time_waits[at].hash; });
  for (std::uint8_t tries = 0; tries < e.half_open_queues.count(); ++tries) {
    in_order(e.half_open_queue(tries), [&](tcp::Index at) { return e.half_opens[at].iss.value; });
  }
  for (tcp::Resource const kind :
       {tcp::Resource::active, tcp::Resource::block, tcp::Resource::piece}) {
    in_order(e.wanting(kind), connection);
  }
  for (tcp::Index i = 0; i < e.waiting_heads.count(); ++i) {
    if (!e.waiting(i).empty()) {
      sink.add_exact(i);
      in_order(e.waiting(i), active);
    }
  }
}

// The sum of the records' hashes, so that their order makes no difference in the canonical
// fingerprint. `fresh` makes a sink for each.
template <class Fresh>
std::uint64_t print_of_records(tcp::Engine& e, const Fresh& fresh) {
  std::uint64_t total = 0;
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
  for (tcp::Index at = 0; at < e.half_opens.high_water(); ++at) {
    if (e.half_opens.taken(at)) {
      tcp::FieldSink sink = fresh();
      tcp::visit_half_open(e, at, sink);
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
  return total;
}

std::uint64_t print_of(Stack::Body& b, bool canonical, Instant origin) {
  tcp::Engine& e = b.engine;
  auto fresh = [&] {
    tcp::FieldSink sink;
    sink.canonical = canonical;
    sink.origin = origin;
    return sink;
  };
  tcp::FieldSink sink = fresh();
  sink.add(print_of_records(e, fresh));
  visit_shared(b, sink);
  // Within the quiet time the time of boot matters.
  sink.add(e.state->started ? 1 : 0);
  sink.add(tcp::in_quiet_time(e) ? e.state->booted : Instant::never());
  if (e.state->now < e.state->stall_over) {
    sink.add(e.state->stalled_until);
  }
  if (!canonical) {
    sink.add(e.state->now);
    sink.add(e.state->booted);
    sink.add(e.state->ports_drawn);
    // The timer may be set for a record that no longer exists.
    bool const caches = e.config.syn_cache_max.value != 0;
    sink.add(caches ? e.wheel.due(e.half_open_timer()) : Instant{});
    sink.add(e.pools.blocks.used());
    sink.add(e.pools.pieces.used());
    sink.add(b.statistics->frames_received);
    sink.add(b.statistics->frames_sent);
    sink.add(b.statistics->bytes_sent);
    b.fragments.visit([&](std::uint64_t value) { sink.add(value); });
    e.paths.visit([&](std::uint64_t value) { sink.add(value); });
    if (e.state->mtu_differs) {
      sink.add(e.state->mtu4);
      sink.add(e.state->mtu6);
    }
    if (b.has_link()) {
      b.neighbours.visit([&](std::uint64_t value) { sink.add(value); });
      if (b.has_discovery()) {
        b.discovery.visit([&](std::uint64_t value) { sink.add(value); });
      }
    }
  }
  return sink.value();
}

}  // namespace

ConnectionInfo Stack::inspect(ConnectionId id) const { return tcp::inspect(body().engine, id); }

Count Stack::records() const { return {tcp::record_count(body().engine)}; }

ConnectionInfo Stack::inspect_record(Count record) const {
  CHECK(record.value < records().value);
  return tcp::inspect_record(body().engine, record.value);
}

tcp::State Stack::state_of(const FourTuple& tuple) const {
  Body const& b = body();
  std::uint16_t const local = b.addresses.find(tuple.local.address);
  return local == internet::no_address ? tcp::State::closed : tcp::state_of(b.engine, tuple, local);
}

PoolUse Stack::pools() const {
  tcp::Engine const& e = body().engine;
  return {e.connections.used(),  e.actives.used(), e.time_waits.used(),   e.pools.blocks.used(),
          e.pools.pieces.used(), e.extents.used(), e.pending_acks.used(), e.half_opens.used()};
}

AddressState Stack::address_state(IpAddress ours) const {
  Body const& b = body();
  std::uint16_t const index = b.addresses.find(ours);
  CHECK(index != internet::no_address);
  if (b.is_usable(index)) {
    return AddressState::usable;
  }
  bool const duplicate = ours.is_v4() ? (b.neighbours.duplicates() >> index & 1) != 0
                                      : b.discovery.test_of(index) == link::TestState::duplicate;
  return duplicate ? AddressState::duplicate : AddressState::tentative;
}

Bytes Stack::link_mtu() const { return body().engine.state->mtu4; }

AddressConflict Stack::last_conflict() const { return body().neighbours.last_conflict(); }

std::uint64_t Stack::fingerprint() const { return print_of(body(), false, Instant{}); }

std::uint64_t Stack::canonical(Instant now) const { return print_of(body(), true, now); }

std::uint64_t Stack::snapshot_bytes() const { return sizeof(SnapshotHeader) + body().state.size(); }

void Stack::snapshot(std::span<std::byte> into) const {
  Body const& b = body();
  CHECK(!b.common->turn_open);
  CHECK(into.size() >= snapshot_bytes());
  SnapshotHeader header;
  header.bytes = b.state.size();
  header.config = config_print(b);
  header.state = print_of_bytes(b.state);
  std::memcpy(into.data(), &header, sizeof header);
  std::memcpy(into.data() + sizeof header, b.state.data(), b.state.size());
}

Refusal Stack::restore(std::span<const std::byte> from) {
  Body& b = changing();
  CHECK(!b.common->turn_open);
  SnapshotHeader expected;
  expected.bytes = b.state.size();
  expected.config = config_print(b);
  if (from.size() < snapshot_bytes()) {
    return Refusal::bad_snapshot;
  }
  expected.state = print_of_bytes(from.subspan(sizeof expected, b.state.size()));
  if (std::memcmp(from.data(), &expected, sizeof expected) != 0) {
    return Refusal::bad_snapshot;
  }
  std::memcpy(b.state.data(), from.data() + sizeof expected, b.state.size());
  return Refusal::none;
}

void Stack::check_invariants() const {
  tcp::Engine& e = body().engine;
  CHECK(!body().has_discovery() || body().discovery.sound());
  for (tcp::Index at = 0; at < e.connections.high_water(); ++at) {
    if (e.connections.taken(at)) {
      tcp::check_invariants(e, e.connection(at));
    }
  }
  tcp::check_conservation(e);
}

}  // namespace lockstep
