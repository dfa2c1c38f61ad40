// IPv4 address conflict detection (RFC 5227): probes before an address is used, and its defence.
#include <bit>

#include "core/link/neighbours.hpp"
#include "core/units/check.hpp"

namespace lockstep::link {
namespace {

constexpr Duration announce_interval = Duration::seconds(2);  // RFC 5227 1.1
constexpr Duration defend_interval = Duration::seconds(10);

}  // namespace

std::uint32_t Neighbours::our_v4() const {
  std::uint32_t out = 0;
  for (std::uint32_t i = 0; i < identity_.addresses.size(); ++i) {
    out |= identity_.addresses[i].is_v4() ? 1u << i : 0u;
  }
  return out;
}

std::uint32_t Neighbours::bit_of(Ipv4 address) const {
  for (std::uint32_t i = 0; i < identity_.addresses.size(); ++i) {
    if (identity_.addresses[i] == IpAddress::from(address)) {
      return 1u << i;
    }
  }
  return 0;
}

void Neighbours::begin(Instant now) {
  std::uint32_t const ours = our_v4();
  if (config_.probes.value == 0 || ours == 0) {
    announce(now);
    return;
  }
  //= rfc5227#2.1
  //# 5227:ACD-1 every address is tested before it is used
  state_->tentative = state_->unusable = ours;
  //= rfc5227#2.1.1
  //# 5227:ACD-3 a random delay, so that hosts that start together do not collide
  set_own_timer(now + Duration{state_->random.below(config_.probe_interval.ns / 2 + 1)});
}

// The own timer fired: for the next probe or announcement, or after the last probe.
void Neighbours::expire_own(Instant now) {
  if (state_->tentative == 0) {
    announce(now);
    return;
  }
  if (state_->probed != config_.probes.value) {
    ++state_->probed;
    state_->probes_pending = state_->tentative;
    //= rfc5227#2.1.1
    //# 5227:ACD-3 PROBE_MIN to PROBE_MAX apart, and ANNOUNCE_WAIT after the last one
    std::uint64_t const most = config_.probe_interval.ns;
    bool const last = state_->probed == config_.probes.value;
    set_own_timer(now + Duration{last ? most : state_->random.within({most / 2, most})});
    return;
  }
  //= rfc5227#2.1.1
  //# 5227:ACD-6 nobody answered: the address may be used
  state_->tentative = 0;
  state_->unusable = state_->duplicates;
  announce(now);
}

void Neighbours::set_own_timer(Instant at) {
  if (state_->own_timer == nil) {
    state_->own_timer = wheel_.open({first_owner_.value + capacity()});
    CHECK(state_->own_timer != nil);
  }
  wheel_.set(state_->own_timer, at);
}

// Hosts with another link address for one of our addresses update it, and switches learn our port.
//= rfc5227#2.3
//# 5227:ACD-7 ANNOUNCE_NUM announcements, ANNOUNCE_INTERVAL apart
void Neighbours::announce(Instant now) {
  std::uint32_t const ours = our_v4() & ~state_->duplicates;
  CHECK(identity_.addresses.size() <= addresses_max);
  if (state_->announced == config_.announcements.value || ours == 0) {
    return;
  }
  state_->pending |= ours;
  ++state_->announced;
  if (state_->announced != config_.announcements.value) {
    set_own_timer(now + announce_interval);
  }
}

// The sender of the packet has or tests `ours`, one of our addresses.
Drop Neighbours::note_conflict(const wire::ArpPacket& packet, std::uint32_t ours, Instant now) {
  auto const place = static_cast<std::uint32_t>(std::countr_zero(ours));
  state_->conflict = {identity_.addresses[place], packet.sender_mac, now,
                      state_->conflict.count + 1};
  if ((state_->tentative & ours) != 0) {
    //= rfc5227#2.1.1
    //# 5227:ACD-4 while it is tested: another host has the address, which is not used
    state_->tentative &= ~ours;
    state_->probes_pending &= ~ours;
    state_->duplicates |= ours;
  } else if ((state_->duplicates & ours) == 0 && config_.defends && may_defend(place, now)) {
    //= rfc5227#2.4
    //# 5227:ACD-8 later it is defended, without end (case c): by one announcement
    state_->pending |= ours;
    state_->defended_at[place] = now;
  }
  return Drop::arp_conflict;
}

//= rfc5227#2.4
//# 5227:ACD-9 of an address at most one in DEFEND_INTERVAL, so that two hosts do not flood the link
bool Neighbours::may_defend(std::uint32_t place, Instant now) const {
  Instant const last = state_->defended_at[place];
  return last == Instant{} || now.since(last) >= defend_interval;
}

// A request from 0.0.0.0: a host tests whether an address is free.
Drop Neighbours::receive_probe(const wire::ArpPacket& packet, Instant now) {
  if (packet.operation != wire::ArpOperation::request || !is_host(packet.sender_mac) ||
      packet.sender_mac == identity_.mac) {
    return Drop::arp_bad_sender;
  }
  std::uint32_t const ours = bit_of(packet.target);
  if (ours == 0 || (state_->duplicates & ours) != 0) {
    return Drop::arp_not_for_us;
  }
  //= rfc5227#2.1.1
  //# 5227:ACD-5 both test the same address
  if ((state_->tentative & ours) != 0) {
    return note_conflict(packet, ours, now);
  }
  answer_without_entry(packet);
  return Drop::none;
}

//= rfc5227#2.1.1
//# 5227:ACD-2 from 0.0.0.0, with our link address, for the address that is tested
wire::ArpPacket Neighbours::next_probe() {
  auto const place = static_cast<std::uint32_t>(std::countr_zero(state_->probes_pending));
  state_->probes_pending &= state_->probes_pending - 1;
  wire::ArpPacket out;
  out.sender_mac = identity_.mac;
  out.target = identity_.addresses[place].as_v4();
  return out;
}

}  // namespace lockstep::link
