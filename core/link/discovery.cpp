// The cache of IPv6 neighbours: its table, and how an entry is believed, doubted and forgotten.
#include "core/link/discovery.hpp"

#include <algorithm>
#include <bit>

#include "core/units/check.hpp"

namespace lockstep::link {
namespace {

bool is_host(Mac mac) { return !mac.is_group() && mac != Mac{}; }

bool has_link_address(DiscoveryState state) {
  return state == DiscoveryState::reachable || state == DiscoveryState::stale ||
         state == DiscoveryState::delay || state == DiscoveryState::probe ||
         state == DiscoveryState::fixed;
}

}  // namespace

Discovery Discovery::lay_out(memory::Layout& layout, const DiscoveryConfig& config,
                             const memory::TimerWheel& wheel, memory::TimerOwner first_owner) {
  CHECK(config.entries_max.value != 0);
  CHECK(config.tries_max.value != 0 && config.tries_max.value <= 0xff);
  CHECK(config.duplicate_tests.value <= 0xff);
  Discovery discovery;
  discovery.config_ = config;
  discovery.first_owner_ = first_owner;
  discovery.state_ = layout.place<State>(Count{1}).data();
  discovery.buckets_ = layout.place<Index>(Count{std::bit_ceil(config.entries_max.value)});
  discovery.entries_ = memory::Slots<Discovered>::lay_out(layout, config.entries_max);
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
  entries_.start();
  answers_.start();
  std::ranges::fill(buckets_.all(), nil);
}

Index& Discovery::bucket_of(IpAddress address) const {
  std::uint64_t const hash = TableHash(config_.key).add(address.high).add(address.low).finish();
  return buckets_[static_cast<Index>(hash & (buckets_.count() - 1))];
}

Index Discovery::find(IpAddress address) const {
  Index index = bucket_of(address);
  while (index != nil && entries_[index].address != address) {
    index = entries_[index].chain;
  }
  return index;
}

// A new entry in the table, in state incomplete and in no list; nil if no slot is free.
Index Discovery::add(IpAddress address) {
  Index const index = entries_.take();
  if (index == nil) {
    return nil;
  }
  Index const timer = entries_[index].timer;
  entries_[index] = Discovered{};
  Discovered& entry = entries_[index];
  entry.timer = timer != nil ? timer : wheel_.open({first_owner_.value + index});
  CHECK(entry.timer != nil);
  entry.address = address;
  entry.state = DiscoveryState::incomplete;
  Index& bucket = bucket_of(address);
  entry.chain = bucket;
  bucket = index;
  return index;
}

// A new entry for somebody who has told its link address; nil if there is no room.
Index Discovery::add_known(IpAddress address, Mac mac) {
  Index index = add(address);
  if (index == nil && evict(false)) {
    index = add(address);
  }
  if (index != nil) {
    //= rfc4861#7.3.3
    //# 4861:ND-32 what nobody has confirmed begins as STALE
    entries_[index].mac = mac;
    entries_[index].state = DiscoveryState::stale;
    join_order(index);
  }
  return index;
}

void Discovery::remove(Index index) {
  Discovered& entry = entries_[index];
  CHECK(!changes().linked(index));
  Index* at = &bucket_of(entry.address);
  while (*at != index) {
    CHECK(*at != nil);
    at = &entries_[*at].chain;
  }
  *at = entry.chain;
  leave_order(index);
  stop_asking(index);
  wheel_.cancel(entry.timer);
  entry.state = DiscoveryState::vacant;
  entries_.give(index);
}

void Discovery::leave_order(Index index) {
  if (passive().linked(index)) {
    (entries_[index].active ? active() : passive()).remove(index);
  }
}

void Discovery::join_order(Index index) {
  (entries_[index].active ? active() : passive()).push_back(index);
}

// Makes room. What others have told of themselves gives way first, so that a flood of them cannot
// push out whom we talk to; what somebody waits for never does.
bool Discovery::evict(bool for_us) {
  for (Order const order : {passive(), active()}) {
    for (Index index = order.first(); index != nil; index = order.next(index)) {
      if (!changes().linked(index)) {
        remove(index);
        return true;
      }
    }
    if (!for_us) {
      return false;
    }
  }
  return false;
}

bool Discovery::add_static(IpAddress address, Mac mac) {
  if (!address.is_v6_host() || !is_host(mac)) {
    return false;
  }
  Index index = find(address);
  if (index == nil) {
    index = add(address);
  }
  if (index == nil) {
    return false;
  }
  entries_[index].mac = mac;
  entries_[index].state = DiscoveryState::fixed;
  return true;
}

//= rfc4861#7.2.2
//# 4861:ND-7 nothing known: the entry is INCOMPLETE, and its solicited-node group is asked
//# 4861:ND-10 who wants to send waits, with all that it has to send, and is told
Lookup Discovery::resolve(const Hop& hop, Instant now) {
  std::uint32_t const own = place_of(hop.source);
  if (own < tests_max && state_->tests[own].state != TestState::usable) {
    //= rfc4862#5.4
    //# 4862:DAD-1 no address is used before it was tested
    bool const waits = state_->tests[own].state != TestState::duplicate;
    return {waits ? LookupKind::waiting : LookupKind::unreachable, capacity() + own, {}};
  }
  Index index = find(hop.next_hop);
  if (index == nil) {
    index = add(hop.next_hop);
    if (index == nil && evict(true)) {
      index = add(hop.next_hop);
    }
    if (index == nil) {
      return {LookupKind::unreachable, nil, {}};
    }
    entries_[index].request_source = hop.source;
    ask(index);
    return {LookupKind::waiting, index, {}};
  }
  Discovered& entry = entries_[index];
  if (!has_link_address(entry.state)) {
    bool const waits = entry.state == DiscoveryState::incomplete;
    return {waits ? LookupKind::waiting : LookupKind::unreachable, index, {}};
  }
  if (!entry.active && entry.state != DiscoveryState::fixed) {
    leave_order(index);
    entry.active = true;
    join_order(index);
  }
  if (entry.state == DiscoveryState::stale) {
    //= rfc4861#7.3.3
    //# 4861:ND-29 the first packet to a STALE neighbour leaves, and begins a DELAY of five seconds
    entry.state = DiscoveryState::delay;
    entry.request_source = hop.source;
    wheel_.set(entry.timer, now + config_.first_probe);
  }
  return {LookupKind::resolved, index, entry.mac};
}

void Discovery::ask(Index index) {
  entries_[index].owes_request = true;
  if (!transmit().linked(index)) {
    transmit().push_back(index);
  }
}

void Discovery::stop_asking(Index index) {
  entries_[index].owes_request = false;
  if (transmit().linked(index)) {
    transmit().remove(index);
  }
}

// Those that wait for it are to be told.
void Discovery::tell(Index index) {
  if (!changes().linked(index)) {
    changes().push_back(index);
  }
}

// It was confirmed that the neighbour hears us. Its link address is known.
void Discovery::make_reachable(Index index, Instant now) {
  Discovered& entry = entries_[index];
  leave_order(index);
  entry.state = DiscoveryState::reachable;
  entry.tries = 0;
  join_order(index);
  stop_asking(index);
  //= rfc4861#7.3.3
  //# 4861:ND-28 for the base time by a random factor of a half to one and a half
  std::uint64_t const factor = state_->random.within({500, 1500});
  wheel_.set(entry.timer, now + state_->reachable_time / 1000 * factor);
}

// Its link address is known, and nothing says that it is right. No timer runs.
void Discovery::make_stale(Index index) {
  Discovered& entry = entries_[index];
  leave_order(index);
  entry.state = DiscoveryState::stale;
  entry.tries = 0;
  join_order(index);
  stop_asking(index);
  wheel_.cancel(entry.timer);
}

void Discovery::confirm(IpAddress next_hop, Instant now) {
  Index const index = find(next_hop);
  //= rfc4861#7.3.3
  //# 4861:ND-31 without effect on an INCOMPLETE entry
  if (index == nil || !has_link_address(entries_[index].state) ||
      entries_[index].state == DiscoveryState::fixed) {
    return;
  }
  make_reachable(index, now);
}

void Discovery::doubt(IpAddress next_hop, Instant now) {
  Index const index = find(next_hop);
  if (index == nil || entries_[index].state != DiscoveryState::reachable) {
    return;
  }
  entries_[index].state = DiscoveryState::delay;
  wheel_.set(entries_[index].timer, now);
}

// Nobody answered.
//= rfc4861#7.2.2
//# 4861:ND-12 whoever waits is told that the address cannot be reached
void Discovery::fail(Index index, Instant now) {
  Discovered& entry = entries_[index];
  leave_order(index);
  entry.state = DiscoveryState::failed;
  entry.active = false;
  wheel_.set(entry.timer, now + state_->retransmission);
  tell(index);
}

// Removes an entry, once all were told of it who wait for it.
void Discovery::forget(Index index, Instant now) {
  if (changes().linked(index)) {
    wheel_.set(entries_[index].timer, now + state_->retransmission);
  } else {
    remove(index);
  }
}

void Discovery::expire_entry(Index index, Instant now) {
  Discovered& entry = entries_[index];
  switch (entry.state) {
    case DiscoveryState::reachable:
      make_stale(index);
      return;
    case DiscoveryState::delay:
      //= rfc4861#7.3.3
      //# 4861:ND-29 then it is probed, unless it was confirmed meanwhile
      entry.state = DiscoveryState::probe;
      entry.tries = 0;
      ask(index);
      return;
    case DiscoveryState::incomplete:
    case DiscoveryState::probe:
      //= rfc4861#7.3.3
      //# 4861:ND-30 a solicitation each interval, with or without traffic; three, then it is gone
      if (entry.tries >= config_.tries_max.value) {
        fail(index, now);
      } else {
        ask(index);
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
    CHECK(entries_.taken(index));
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
  Index const index = changes().pop_front();
  if (index == nil) {
    return false;
  }
  out = {index, has_link_address(entries_[index].state)};
  return true;
}

bool Discovery::sound() const {
  if (!passive().sound() || !active().sound() || !transmit().sound() || !changes().sound()) {
    return false;
  }
  std::uint32_t chained = 0;
  for (Index index : buckets_.all()) {
    for (; index != nil && chained <= capacity(); index = entries_[index].chain) {
      Discovered const& entry = entries_[index];
      bool const ordered =
          has_link_address(entry.state) && entry.state != DiscoveryState::fixed;
      bool const timed = entry.state != DiscoveryState::fixed &&
                         entry.state != DiscoveryState::stale && !entry.owes_request;
      if (!entries_.taken(index) || find(entry.address) != index ||
          passive().linked(index) != ordered ||
          transmit().linked(index) != entry.owes_request ||
          wheel_.is_set(entry.timer) != timed) {
        return false;
      }
      ++chained;
    }
  }
  return chained == entries_.used();
}

}  // namespace lockstep::link
