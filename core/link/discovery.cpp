// The cache of IPv6 neighbours: how entries are confirmed, doubted and removed.
#include "core/link/discovery.hpp"

#include <bit>

#include "core/units/check.hpp"

namespace lockstep::link {
namespace {

bool has_link_address(DiscoveryState state) {
  return state == DiscoveryState::reachable || state == DiscoveryState::stale ||
         state == DiscoveryState::delay || state == DiscoveryState::probe ||
         state == DiscoveryState::fixed;
}

}  // namespace

Discovery Discovery::lay_out(memory::Layout& layout, const DiscoveryConfig& config,
                             const memory::TimerWheel& wheel, memory::TimerOwner first_owner) {
  CHECK(config.tries_max.value != 0 && config.tries_max.value <= 0xff);
  CHECK(config.duplicate_tests.value <= 0xff);
  CHECK(config.announcements.value <= 0xff);
  Discovery discovery;
  discovery.config_ = config;
  discovery.first_owner_ = first_owner;
  discovery.state_ = layout.place<State>(Count{1}).data();
  discovery.table_ = NeighbourTable<Discovered>::lay_out(
      layout, {config.entries_max, config.key, first_owner}, wheel);
  discovery.answers_ = memory::Queue<Answer>::lay_out(layout, Count{answers_max});
  discovery.wheel_ = wheel;
  return discovery;
}

void Discovery::start() {
  *state_ = State{};
  state_->random = Random(config_.seed);
  state_->reachable_time = config_.reachable_time;
  state_->retransmission = config_.retransmission;
  state_->mtu = config_.mtu;
  table_.start();
  answers_.start();
}

// A new entry for a host that sent its link address; nil if there is no space.
Index Discovery::add_known(IpAddress address, Mac mac) {
  Index const index = table_.add_learned(address);
  if (index != nil) {
    //= rfc4861#7.3.3
    //# 4861:ND-32 an unconfirmed entry starts as STALE
    table_[index].mac = mac;
    table_[index].state = DiscoveryState::stale;
    table_.join_order(index);
  }
  return index;
}

bool Discovery::add_static(IpAddress address, Mac mac) {
  if (!address.is_v6_host() || !is_host(mac)) {
    return false;
  }
  Index index = find(address);
  if (index == nil) {
    index = table_.add(address);
  }
  if (index == nil) {
    return false;
  }
  table_.leave_order(index);
  table_[index].mac = mac;
  table_[index].state = DiscoveryState::fixed;
  return true;
}

//= rfc4861#7.2.2
//# 4861:ND-7 unknown: the entry is INCOMPLETE, and its solicited-node group is solicited
//# 4861:ND-10 the sender keeps its packets, waits, and is notified
Lookup Discovery::resolve(const Hop& hop, Instant now) {
  std::uint32_t const own = place_of(hop.source);
  if (own < tests_max && state_->tests[own].state != TestState::usable) {
    //= rfc4862#5.4
    //# 4862:DAD-1 no address is used before it was tested
    bool const waits = state_->tests[own].state != TestState::duplicate;
    return {waits ? LookupKind::waiting : LookupKind::unreachable, capacity() + own, {}};
  }
  Index index = table_.find_recent(hop.next_hop);
  if (index == nil) {
    index = table_.add_incomplete(hop.next_hop, hop.asker);
    if (index == nil) {
      return {LookupKind::unreachable, nil, {}};
    }
    table_[index].request_source = hop.source;
    table_.ask(index);
    return {LookupKind::waiting, index, {}};
  }
  Discovered& entry = table_[index];
  if (!has_link_address(entry.state)) {
    bool const waits = entry.state == DiscoveryState::incomplete;
    if (hop.asker == Asker::ours) {
      table_.want(index);
    }
    return {waits ? LookupKind::waiting : LookupKind::unreachable, index, {}};
  }
  if (!entry.active && entry.state != DiscoveryState::fixed) {
    table_.leave_order(index);
    entry.active = true;
    table_.join_order(index);
  }
  table_.remember(index);
  if (entry.state == DiscoveryState::stale) {
    //= rfc4861#7.3.3
    //# 4861:ND-29 the first packet to a STALE neighbour is sent, and starts a DELAY of five seconds
    entry.state = DiscoveryState::delay;
    entry.request_source = hop.source;
    table_.set_timer(index, now + config_.first_probe);
  }
  return {LookupKind::resolved, index, entry.mac};
}

void Discovery::stop_asking(Index index) {
  table_[index].request_pending = false;
  if (table_.transmit().linked(index)) {
    table_.transmit().remove(index);
  }
}

// The neighbour has proved to receive our packets. Its link address is known.
void Discovery::make_reachable(Index index, Instant now) {
  Discovered& entry = table_[index];
  table_.leave_order(index);
  entry.state = DiscoveryState::reachable;
  entry.tries = 0;
  entry.confirmed = now;
  table_.join_order(index);
  stop_asking(index);
  //= rfc4861#7.3.3
  //# 4861:ND-28 the base time times a random factor between 0.5 and 1.5
  std::uint64_t const factor = state_->random.within({500, 1500});
  table_.set_timer(index, now + state_->reachable_time / 1000 * factor);
}

// Its link address is known but not confirmed. No timer runs.
void Discovery::make_stale(Index index) {
  Discovered& entry = table_[index];
  if (!has_link_address(entry.state)) {
    table_.make_room_for_answer();
  }
  table_.leave_order(index);
  entry.state = DiscoveryState::stale;
  entry.tries = 0;
  table_.join_order(index);
  stop_asking(index);
  table_.cancel_timer(index);
}

void Discovery::confirm(IpAddress next_hop, Instant now) {
  Index const index = find(next_hop);
  //= rfc4861#7.3.3
  //# 4861:ND-31 no effect on an INCOMPLETE entry
  if (index == nil || !has_link_address(table_[index].state) ||
      table_[index].state == DiscoveryState::fixed) {
    return;
  }
  make_reachable(index, now);
}

void Discovery::doubt(IpAddress next_hop, Instant now) {
  Index const index = find(next_hop);
  if (index == nil || table_[index].state != DiscoveryState::reachable ||
      now.since(table_[index].confirmed) < state_->retransmission * config_.tries_max.value) {
    return;
  }
  table_[index].state = DiscoveryState::delay;
  table_.set_timer(index, now);
}

// There was no answer.
//= rfc4861#7.2.2
//# 4861:ND-12 those that wait are notified that the address is unreachable
void Discovery::fail(Index index, Instant now) {
  Discovered& entry = table_[index];
  table_.leave_order(index);
  entry.state = DiscoveryState::failed;
  entry.active = false;
  table_.join_order(index);
  table_.set_timer(index, now + state_->retransmission);
  table_.notify(index);
}

// Removes an entry; if something waits for it, only after the notification.
void Discovery::forget(Index index, Instant now) {
  if (table_.changes().linked(index)) {
    table_.set_timer(index, now + state_->retransmission);
  } else {
    table_.remove(index);
  }
}

void Discovery::expire_entry(Index index, Instant now) {
  Discovered& entry = table_[index];
  switch (entry.state) {
    case DiscoveryState::reachable:
      make_stale(index);
      return;
    case DiscoveryState::delay:
      //= rfc4861#7.3.3
      //# 4861:ND-29 then it is probed, unless it was confirmed meanwhile
      entry.state = DiscoveryState::probe;
      entry.tries = 0;
      table_.ask(index);
      return;
    case DiscoveryState::incomplete:
    case DiscoveryState::probe:
      //= rfc4861#7.3.3
      //# 4861:ND-30 one solicitation per interval, with or without traffic; removed after three
      if (entry.tries >= config_.tries_max.value) {
        fail(index, now);
      } else {
        table_.ask(index);
      }
      return;
    case DiscoveryState::failed:
      forget(index, now);
      return;
    case DiscoveryState::stale:
    case DiscoveryState::fixed:
    case DiscoveryState::vacant:
      CHECK(entry.state == DiscoveryState::reachable);
  }
}

void Discovery::expire(Index index, Instant now) {
  if (index < capacity()) {
    CHECK(table_.taken(index));
    expire_entry(index, now);
  } else if (index - capacity() < tests_max) {
    expire_test(index - capacity(), now);
  } else {
    expire_router_timer(now);
  }
}

bool Discovery::next_change(NeighbourChange& out) {
  if (state_->tests_changed != 0) {
    auto const own = static_cast<std::uint32_t>(std::countr_zero(state_->tests_changed));
    state_->tests_changed &= state_->tests_changed - 1;
    out = {capacity() + own, state_->tests[own].state == TestState::usable};
    return true;
  }
  Index const index = table_.changes().pop_front();
  if (index == nil) {
    return false;
  }
  out = {index, has_link_address(table_[index].state)};
  return true;
}

bool Discovery::sound() const {
  return table_.sound([](const Discovered& entry) {
    bool const ordered = entry.state != DiscoveryState::fixed;
    bool const timed = entry.state != DiscoveryState::fixed &&
                       entry.state != DiscoveryState::stale && !entry.request_pending;
    return NeighbourPlace{ordered, entry.request_pending, timed};
  });
}

}  // namespace lockstep::link
