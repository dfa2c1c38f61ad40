// The Stack: layout of its arena, time and events, and the application's calls.
#include "core/stack/stack.hpp"

#include <new>

#include "core/stack/body.hpp"
#include "core/tcp/calls.hpp"
#include "core/tcp/congestion/added.hpp"
#include "core/tcp/congestion/rate.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/cookies.hpp"
#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/opening/syn_cache.hpp"
#include "core/tcp/reassembly.hpp"
#include "core/tcp/resources.hpp"
#include "core/tcp/segment_options.hpp"
#include "core/tcp/time_wait.hpp"
#include "core/tcp/window_scale.hpp"
#include "core/units/check.hpp"

namespace lockstep {
namespace {

// Of several shards only shard 0 announces.
Count announcements_of(const Config& config) {
  return config.tcp.shard.value == 0 ? config.announcements : Count{0};
}

// Different for hosts that start at the same time.
std::uint64_t link_seed(const Config& config) {
  Fingerprint seed;
  for (std::uint8_t const octet : config.mac.octets) {
    seed.add(octet);
  }
  seed.add(config.tcp.port_key.first);
  return seed.value();
}

link::NeighbourConfig neighbour_config(const Config& config) {
  link::NeighbourConfig out;
  out.entries_max = config.neighbours_max;
  out.reachable_time = config.neighbour_reachable;
  out.retry_interval = config.neighbour_retry;
  out.tries_max = config.neighbour_tries;
  out.announcements = announcements_of(config);
  out.probes = config.address_probes;
  out.probe_interval = config.address_probe_interval;
  out.defends = config.defend_addresses && config.tcp.shard.value == 0;
  out.seed = link_seed(config);
  out.key = config.tcp.table_key;
  return out;
}

bool speaks_v6(const Config& config) {
  for (std::uint32_t i = 0; i < config.address_count.value; ++i) {
    if (!config.addresses[i].address.is_v4()) {
      return true;
    }
  }
  return false;
}

link::DiscoveryConfig discovery_config(const Config& config) {
  link::DiscoveryConfig out;
  bool const needed = config.link == LinkType::ethernet && speaks_v6(config);
  out.entries_max = needed ? config.neighbours_max : Count{1};
  out.reachable_time = config.discovery_reachable;
  out.retransmission = config.discovery_retransmission;
  out.first_probe = config.discovery_first_probe;
  out.duplicate_tests = config.duplicate_tests;
  out.announcements = announcements_of(config);
  out.follow_routers = config.follow_routers;
  out.answers = config.tcp.shard.value == 0;
  out.mtu = config.mtu;
  out.key = config.tcp.table_key;
  out.seed = link_seed(config);
  return out;
}

internet::FragmentConfig fragment_config(const Config& config) {
  return {config.reassembly_datagrams, config.reassembly_bytes, config.reassembly_per_source,
          config.reassembly_timeout};
}

// Timer numbers: those of neighbours come first, then neighbour discovery, then fragments.
std::uint32_t discovery_from(const Config& config) {
  return link::Neighbours::timers_max(neighbour_config(config)).value;
}
std::uint32_t fragments_from(const Config& config) {
  return discovery_from(config) + link::Discovery::timers_max(discovery_config(config)).value;
}

// Space for about fifty resets and ACKs that wait for address resolution.
constexpr Bytes parked_bytes{4096};

Count plus(Count a, Count b) { return {a.value + b.value}; }

void lay_out_tcp(memory::Layout& layout, const Config& config, tcp::Engine& e) {
  tcp::Config const& t = config.tcp;
  e.state = layout.place<tcp::EngineState>(Count{1}).data();
  e.connections = memory::Slots<tcp::Connection>::lay_out(layout, t.connections_max);
  e.accounts = layout.place<tcp::Account>(t.accounts ? t.connections_max : Count{0});
  bool const adds = tcp::is_added(t.congestion);
  e.added = layout.place<tcp::AddedState>(adds ? t.connections_max : Count{0});
  e.stamps = layout.place<tcp::SentStamp>(adds ? t.sent_max : Count{0});
  e.actives = memory::Slots<tcp::InFlightState>::lay_out(layout, t.active_max);
  e.time_waits = memory::Slots<tcp::TimeWait>::lay_out(layout, t.time_wait_max);
  bool const caches = t.syn_cache_max.value != 0;
  e.half_opens = memory::Slots<tcp::HalfOpen>::lay_out(layout, t.syn_cache_max);
  e.half_open_queues =
      layout.place<memory::ListHead>(Count{caches ? tcp::half_open_tries_max + 1 : 0});
  e.used_cookies = layout.place<tcp::UsedCookie>(tcp::used_cookies_of(t));
  e.listeners = memory::Slots<tcp::Listener>::lay_out(layout, t.listeners_max);
  e.extents = memory::Slots<tcp::Extent>::lay_out(layout, t.extents_max);
  e.pending_acks = memory::Slots<tcp::PendingAck>::lay_out(layout, t.owed_max);
  e.marks = memory::Slots<tcp::TxStamp>::lay_out(layout, t.marks_max);
  e.reports = layout.place<std::array<wire::SackBlock, wire::sack_blocks_max>>(t.owed_max);
  e.sent = memory::Slots<tcp::Sent>::lay_out(layout, t.sent_max);
  e.pools.blocks = memory::Blocks::lay_out(layout, t.blocks_max, t.block_bytes);
  e.reserves = tcp::receive_reserves(t);
  e.pools.blocks.keep({tcp::blocks_kept_to_write(t), tcp::blocks_kept_for_first(t)},
                      {tcp::blocks_kept_to_receive(t), Count{e.reserves.first}});
  e.pools.pieces = memory::Slots<memory::Piece>::lay_out(layout, t.pieces_max);
  Count const hops =
      plus(config.neighbours_max, link::Discovery::timers_max(discovery_config(config)));
  e.fast_open_cache =
      layout.place<tcp::FastOpenEntry>(t.fast_open_client ? t.fast_open_cache_max : Count{0});
  e.waiting_heads = layout.place<memory::ListHead>(hops);
  e.gap_uses = layout.place<tcp::GapUse>(Count{tcp::gap_uses});
  Count const lower{fragments_from(config)};
  Count const others = plus(plus(lower, config.reassembly_datagrams), Count{caches ? 1u : 0u});
  Count const timers = plus(plus(t.connections_max, t.time_wait_max), others);
  e.wheel = memory::TimerWheel::lay_out(layout, timers);
  Count const entries =
      plus(plus(t.connections_max, t.time_wait_max), plus(t.listeners_max, t.syn_cache_max));
  e.demux = tcp::Demux::lay_out(layout, entries, t.table_key);
  e.replies = internet::Replies::lay_out(layout, config.reply_bytes);
}

// Lays out all parts, with or without memory. First the parts that snapshots leave out; returns
// where these end.
std::uint64_t lay_out(memory::Layout& layout, const Config& config, Stack::Body& b) {
  layout.place_bytes(sizeof(Stack::Body));
  b.parsed = layout.place<Parsed>(config.burst_frames);
  auto const regions = layout.place<tcp::Region>(config.regions_max);
  auto const loans = layout.place<tcp::Loan>(config.burst_frames);
  layout.place_bytes(0);
  std::uint64_t const transient = layout.bytes();
  lay_out_tcp(layout, config, b.engine);
  b.neighbours = link::Neighbours::lay_out(layout, neighbour_config(config), b.engine.wheel,
                                           {tcp::lower_timers_from(config.tcp)});
  b.discovery =
      link::Discovery::lay_out(layout, discovery_config(config), b.engine.wheel,
                               {tcp::lower_timers_from(config.tcp) + discovery_from(config)});
  b.fragments =
      internet::Fragments::lay_out(layout, fragment_config(config), b.engine.wheel,
                                   {tcp::lower_timers_from(config.tcp) + fragments_from(config)});
  b.engine.paths = internet::PathMtus::lay_out(
      layout, {config.paths_max, config.path_age, config.tcp.table_key,
               static_cast<std::uint16_t>(config.tcp.path_mtu_least.count)});
  b.parked = internet::Replies::lay_out(layout, parked_bytes);
  b.common = layout.place<StackState>(Count{1}).data();
  b.statistics = layout.place<Statistics>(Count{1}).data();
  if (!layout.measures()) {
    b.engine.regions = regions.all();
    b.engine.loans = loans.all();
  }
  return transient;
}

void start_tcp(tcp::Engine& e) {
  *e.state = tcp::EngineState{};
  e.connections.start();
  e.actives.start();
  e.time_waits.start();
  e.half_opens.start();
  for (memory::ListHead& head : e.half_open_queues.all()) {
    head = memory::ListHead{};
  }
  for (tcp::UsedCookie& spent : e.used_cookies.all()) {
    spent = tcp::UsedCookie{};
  }
  e.listeners.start();
  e.extents.start();
  e.pending_acks.start();
  e.marks.start();
  e.sent.start();
  for (tcp::AddedState& state : e.added.all()) {
    state = tcp::AddedState{};
  }
  for (tcp::SentStamp& stamp : e.stamps.all()) {
    stamp = tcp::SentStamp{};
  }
  e.pools.blocks.start();
  e.pools.pieces.start();
  for (tcp::FastOpenEntry& entry : e.fast_open_cache.all()) {
    entry = tcp::FastOpenEntry{};
  }
  for (memory::ListHead& head : e.waiting_heads.all()) {
    head = memory::ListHead{};
  }
  for (tcp::GapUse& use : e.gap_uses.all()) {
    use = tcp::GapUse{};
  }
  e.wheel.start();
  if (e.half_opens.capacity() != 0) {
    e.wheel.open({e.half_open_timer()});
  }
  e.demux.start();
  e.replies.start();
  for (tcp::Region& region : e.regions) {
    region = tcp::Region{};
  }
}

void configure(Stack::Body& b) {
  Config const& config = b.config;
  for (std::uint32_t i = 0; i < config.address_count.value; ++i) {
    bool const added =
        b.addresses.add(config.addresses[i].address, config.addresses[i].prefix_bits);
    CHECK(added);
  }
  if (!config.gateway.is_unspecified()) {
    bool const added = b.routes.add({IpAddress::v4(0, 0, 0, 0), config.gateway, 0});
    CHECK(added);
  }
  if (b.has_discovery() && !b.addresses.has_link_local()) {
    //= rfc4862#5.3
    //# 4862:DAD-12 formed when the interface is created
    bool const added = b.addresses.add(link_local_of(config.mac), 64);
    CHECK(added);
  }
  for (std::uint32_t i = 0; i < config.route_count.value; ++i) {
    ConfigRoute const& route = config.routes[i];
    internet::Route const way{route.prefix, route.gateway, route.prefix_bits};
    bool const added = route.prefix.is_v4() ? b.routes.add(way) : b.routes6.add(way);
    CHECK(added);
  }
  b.link_bytes = b.has_link() ? wire::ethernet_bytes(config.vlan) : 0;
  b.engine.config = config.tcp;
  b.engine.config.pacing = tcp::is_paced(config.tcp);
  b.engine.mss_alone = tcp::names_mss_alone(config.tcp);
  b.engine.fresh = tcp::fresh_connection(config.tcp);
  b.engine.addresses = b.addresses.all();
  b.engine.counters = &b.statistics->tcp;
  b.engine.drops = &b.statistics->drops;
}

}  // namespace

std::uint64_t Stack::arena_bytes(const Config& config) {
  memory::Layout layout;
  alignas(64) Body measured;
  static_cast<void>(lay_out(layout, config, measured));
  return layout.bytes();
}

Stack::Stack(const Config& config, std::span<std::byte> arena) {
  if (std::string_view const fault = fault_of(config); !fault.empty()) {
    // `fault` is a zero-terminated literal; it is printed in place of a condition.
    check_failed({fault.data(), __FILE__, __LINE__});
  }
  CHECK(reinterpret_cast<std::uintptr_t>(arena.data()) % memory::arena_alignment == 0);
  body_ = new (arena.data()) Body{};
  Body& b = *body_;
  b.config = config;
  memory::Layout layout(arena);
  auto const transient = static_cast<std::size_t>(lay_out(layout, config, b));
  b.state = arena.subspan(transient, static_cast<std::size_t>(layout.bytes()) - transient);
  *b.common = StackState{};
  *b.statistics = Statistics{};
  configure(b);
  start_tcp(b.engine);
  for (Parsed& scratch : b.parsed.all()) {
    scratch = Parsed{};
  }
  link::LinkIdentity const identity{b.config.mac, b.addresses.all(), b.config.vlan};
  b.neighbours.identify(identity);
  b.neighbours.start();
  b.discovery.identify(identity);
  b.discovery.start();
  b.fragments.start();
  b.engine.paths.start();
  b.engine.state->mtu6 = b.config.mtu;
  b.engine.state->mtu4 = b.config.mtu;
  b.parked.start();
  for (std::uint32_t i = 0; i < config.static_neighbour_count.value; ++i) {
    StaticNeighbour const& neighbour = config.static_neighbours[i];
    if (!neighbour.address.is_v4() && !b.has_discovery()) {
      continue;  // a link without Ethernet headers needs no IPv6 link-local entry
    }
    bool const added = neighbour.address.is_v4()
                           ? b.neighbours.add_static(neighbour.address, neighbour.mac)
                           : b.discovery.add_static(neighbour.address, neighbour.mac);
    CHECK(added);
  }
}

// Call before the time is set.
[[gnu::cold]] void Stack::Body::note_stall(Instant now) {
  Instant const due = engine.wheel.deadline();
  if (due < now && now.since(due) > tcp::stall_least) {
    engine.state->stalled_until = now;
    engine.state->stall_over = now + tcp::stall_least;
  }
}

void Stack::Body::set_time(Instant now) {
  tcp::EngineState& all = *engine.state;
  CHECK(now >= all.now);
  if (now.since(all.now) > tcp::stall_least) [[unlikely]] {
    note_stall(now);
  }
  all.now = now;
  if (!all.started) {
    all.started = true;
    all.booted = now;
    if (has_link()) {
      neighbours.begin(now);
    }
    if (has_discovery()) {
      discovery.begin(now);
    }
  }
}

void Stack::set_link_mtu(Bytes mtu) {
  Body& b = changing();
  CHECK(mtu.count >= 68);
  b.engine.state->mtu4 = least(mtu, b.config.mtu);
  b.follow_link();
}

// Timers below TCP: first those of neighbours, then neighbour discovery, then fragments.
[[gnu::cold]] void Stack::Body::expire_lower(std::uint32_t timer, Instant now) {
  if (timer < discovery_from(config)) {
    neighbours.expire(timer, now);
  } else if (timer < fragments_from(config)) {
    discovery.expire(timer - discovery_from(config), now);
  } else {
    expire_datagram(timer - fragments_from(config));
  }
}

bool Stack::expire(Instant now) {
  Body& b = changing();
  tcp::Engine& e = b.engine;
  b.set_time(now);
  e.state->draining = false;
  bool fired = false;
  for (std::uint32_t i = 0; i < b.config.expire_max.value; ++i) {
    memory::Index const node = e.wheel.pop_due(now);
    if (node == memory::nil) {
      break;
    }
    fired = true;
    if (node < tcp::time_wait_timers_from(e.config)) {
      tcp::expire_connection(e, e.connection(node));
    } else if (node < tcp::half_open_timer_of(e.config)) {
      tcp::expire_time_wait(e, node - tcp::time_wait_timers_from(e.config));
    } else if (node < tcp::lower_timers_from(e.config)) {
      tcp::expire_half_open(e);
    } else {
      b.expire_lower(node - tcp::lower_timers_from(e.config), now);
    }
  }
  if (b.has_link()) {
    b.drain_neighbours();
  }
  return fired;
}

bool Stack::next_event(Event& out) { return tcp::next_event(changing().engine, out); }

Instant Stack::deadline() const {
  Body const& b = body();
  // A stack needs the time before its first turn: its addresses are still to be tested.
  if (wants_transmit() || tcp::events_pending(b.engine) || !b.engine.state->started) {
    return b.engine.state->now;
  }
  return b.engine.wheel.deadline();
}

void Stack::settle() {
  Body& b = changing();
  tcp::settle_loans(b.engine);
  b.fragments.settle();
  b.common->lent = 0;
  b.common->turn_open = false;
}

void Stack::bind(RegionId region, std::span<const std::byte> memory,
                 const wire::ChecksumTable& table) {
  Body& b = changing();
  CHECK(region.value < b.engine.regions.size());
  b.engine.regions[region.value] = {memory, table};
}

Refusal Stack::listen(const Local& local, Backlog backlog, ListenerId& out) {
  Body& b = changing();
  bool const any = local.address.is_unspecified();
  std::uint16_t const index = any ? internet::no_address : b.addresses.find(local.address);
  if (!any && index == internet::no_address) {
    return Refusal::bad_local;
  }
  Local asked = local;
  if (any) {
    asked.address = IpAddress{};
  }
  return tcp::listen(b.engine, asked, index, backlog, out);
}

Refusal Stack::change(ListenerId listener, const Backlog& to) {
  return tcp::change(changing().engine, listener, to);
}

Refusal Stack::unlisten(ListenerId listener) { return tcp::unlisten(changing().engine, listener); }

void Stack::admit(ListenerId listener, Count more) {
  tcp::admit(changing().engine, listener, more);
}

// Chooses the local address of the connection, and its index.
// An IPv6 address that is being tested is not usable yet, but a SYN may wait for that.
bool Stack::Body::may_connect_from(std::uint16_t address) const {
  if (address == internet::no_address || addresses.all()[address].is_v4()) {
    return is_usable(address);
  }
  //= rfc4862#5.4.5
  //# 4862:DAD-10 another host has it
  return !has_discovery() || discovery.test_of(address) != link::TestState::duplicate;
}

// A usable IPv4 address in the network of `index`; no_address if there is none.
std::uint16_t Stack::Body::beside(std::uint16_t index) const {
  for (std::uint16_t i = 0; index != internet::no_address && i < addresses.count(); ++i) {
    IpAddress const other = addresses.all()[i];
    if (other.is_v4() && is_usable(i) &&
        internet::same_prefix({addresses.all()[index].as_v4(), other.as_v4()},
                              addresses.prefix_bits(index))) {
      return i;
    }
  }
  return internet::no_address;
}

Refusal Stack::Body::choose_local(const Open& open, IpAddress& local, std::uint16_t& index) {
  if (!internet::may_be_remote(addresses, open.remote.address) || open.remote.port.value == 0) {
    return Refusal::bad_remote;
  }
  index = internet::no_address;
  bool const named = !open.local.address.is_unspecified();
  bool const v4 = open.remote.address.is_v4();
  if (named) {
    local = open.local.address;
    index = addresses.find(local);
    if (index == internet::no_address || local.is_v4() != v4) {
      return Refusal::bad_local;
    }
  }
  internet::NextHop hop;
  IpAddress hop6;
  bool const routed = v4 ? routes.next_hop(addresses, open.remote.address, hop)
                         : next_hop6(open.remote.address, hop6);
  if (!routed && has_link()) {
    return Refusal::no_route;
  }
  if (named) {
    return may_connect_from(index) ? Refusal::none : Refusal::no_route;
  }
  //= rfc9293#3.9.1.1
  //# 9293:MUST-44 IP chooses the local address
  if (!v4) {
    index = internet::source_for(addresses, open.remote.address, usable_addresses());
  } else {
    index = routed ? hop.source : addresses.first_v4();
    index = is_usable(index) ? index : beside(index);
  }
  if (index == internet::no_address || !may_connect_from(index)) {
    return Refusal::no_route;
  }
  //= rfc9293#3.9.1.1
  //# 9293:MUST-45 it does not change during the connection
  local = engine.addresses[index];
  return Refusal::none;
}

Refusal Stack::connect(const Open& open, ConnectionId& out) {
  Body& b = changing();
  Open asked = open;
  std::uint16_t index = internet::no_address;
  Refusal refused = b.choose_local(open, asked.local.address, index);
  refused = refused == Refusal::none ? tcp::connect(b.engine, asked, index, out) : refused;
  if (refused == Refusal::none) {
    b.expect_answer(b.engine.connection(out.slot));
  }
  return refused;
}

bool Stack::knows_cookie(const Open& open) const {
  Body& b = body();
  IpAddress local;
  std::uint16_t index = internet::no_address;
  return b.choose_local(open, local, index) == Refusal::none &&
         tcp::knows_cookie(b.engine, local, open.remote);
}

// The next segment usually answers this SYN: caches its hash.
void Stack::Body::expect_answer(const tcp::Connection& c) {
  bool const same_path = recent.path.source == c.remote &&
                         recent.path.local_address == c.local_address &&
                         recent.path.destination == engine.local_of(c);
  if (same_path) {
    recent.local = c.local_port;
    recent.remote = c.remote_port;
    recent.hash = c.hash;
  }
}

// RECEIVE never waits: the `received` event reports when there is data.
//= rfc9293#3.10.3
//# 9293:P-RECV-CLOSED, 9293:P-RECV-PRE, 9293:P-RECV-QUEUE without data nothing is returned
std::span<const std::byte> Stack::readable(ConnectionId id, Bytes skip) const {
  tcp::Engine& e = body().engine;
  tcp::Connection* const c = tcp::find_told(e, id);
  return c == nullptr ? std::span<const std::byte>{} : tcp::readable(e, *c, skip);
}

void Stack::consume(ConnectionId id, Bytes bytes) {
  tcp::Engine& e = changing().engine;
  tcp::Connection* const c = tcp::find_told(e, id);
  if (c != nullptr) {
    tcp::consume(e, *c, bytes);
  }
}

//= rfc9293#3.9.1.3
//# 9293:P-RECV-COUNT the number of octets that can be read
Bytes Stack::unread(ConnectionId id) const {
  tcp::Connection const* const c = tcp::find_told(body().engine, id);
  return c == nullptr ? Bytes{} : tcp::unread_of(*c);
}

Bytes Stack::writable(ConnectionId id) const { return tcp::writable(body().engine, id); }

Taken Stack::write(ConnectionId id, std::span<const std::byte> bytes, More more) {
  return tcp::write(changing().engine, id, bytes, more);
}

Taken Stack::lend(ConnectionId id, Payload payload, More more) {
  return tcp::lend(changing().engine, id, payload, more);
}

Refusal Stack::urgent(ConnectionId id) { return tcp::urgent(changing().engine, id); }

Refusal Stack::finish(ConnectionId id) { return tcp::finish(changing().engine, id); }

Refusal Stack::close(ConnectionId id) { return tcp::close(changing().engine, id); }

void Stack::abort(ConnectionId id) { tcp::abort(changing().engine, id); }

Refusal Stack::set(ConnectionId id, Setting setting) {
  return tcp::set(changing().engine, id, setting);
}

bool Stack::Body::is_opening() const {
  bool out = engine.half_opens.used() != 0;
  for (memory::Index i = 0; i < engine.connections.capacity() && !out; ++i) {
    tcp::Connection const* const c = engine.connections.find(i);
    out = c != nullptr && !tcp::synchronized(c->state);
  }
  return out;
}

void Stack::reconfigure(const Config& config) {
  Body& b = body();
  CHECK(fault_of(config).empty());
  CHECK(arena_bytes(config) == arena_bytes(b.config));
  Config next = config;
  // A packet of the former size may wait.
  next.mtu = most(config.mtu, b.config.mtu);
  // TSval of a connection must not go back.
  next.tcp.timestamp_tick = b.config.tcp.timestamp_tick;
  // Data in flight has marks, which rate samples return.
  next.tcp.rate_samples = next.tcp.rate_samples || tcp::wants_marks(b.config.tcp);
  if (b.is_opening()) {
    // A SYN has told the peer this shift.
    next.tcp.window_shift_automatic = false;
    next.tcp.window_shift = tcp::scale_to_offer(b.config.tcp).shift;
  }
  bool const other_mtu = config.mtu != b.config.mtu;
  if (tcp::is_added(b.config.tcp.congestion)) {
    // Its connections have the state of this controller.
    next.tcp.congestion = b.config.tcp.congestion;
  }
  b.config = next;
  b.engine.config = next.tcp;
  b.engine.config.pacing = tcp::is_paced(next.tcp);
  if (other_mtu) {
    set_link_mtu(config.mtu);
  }
  b.engine.mss_alone = tcp::names_mss_alone(next.tcp);
  b.engine.fresh = tcp::fresh_connection(next.tcp);
}

const Config& Stack::config() const { return body().config; }

tcp::ControllerFault Stack::controller_fault() const {
  return body().engine.state->controller_fault;
}

const Statistics& Stack::statistics() const { return *body().statistics; }

Instant Stack::now() const { return body().engine.state->now; }

}  // namespace lockstep
