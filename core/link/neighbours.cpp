// The neighbour cache: its table, what it asks and answers, and when it forgets.
#include "core/link/neighbours.hpp"

#include <algorithm>
#include <bit>

#include "core/units/check.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep::link {
namespace {

constexpr std::uint32_t arp_frame_bytes =
    wire::ethernet_header_bytes + wire::vlan_tag_bytes + wire::arp_packet_bytes;

// A link address that a host can have.
bool is_host(Mac mac) { return !mac.is_group() && mac != Mac{}; }

// An address that a host of this link can have.
bool is_host(Ipv4 address) {
  return !address.is_reserved() && !address.is_multicast() && !address.is_loopback();
}

bool has_link_address(NeighbourState state) {
  return state == NeighbourState::reachable || state == NeighbourState::probing ||
         state == NeighbourState::fixed;
}

}  // namespace

Neighbours Neighbours::lay_out(memory::Layout& layout, const NeighbourConfig& config,
                               const memory::TimerWheel& wheel, memory::TimerOwner first_owner) {
  CHECK(config.entries_max.value != 0);
  CHECK(config.tries_max.value != 0 && config.tries_max.value <= 0xff);
  Neighbours neighbours;
  neighbours.config_ = config;
  neighbours.first_owner_ = first_owner;
  neighbours.state_ = layout.place<State>(Count{1}).data();
  neighbours.buckets_ = layout.place<Index>(Count{std::bit_ceil(config.entries_max.value)});
  neighbours.entries_ = memory::Slots<Neighbour>::lay_out(layout, config.entries_max);
  neighbours.wheel_ = wheel;
  return neighbours;
}

void Neighbours::start() {
  *state_ = State{};
  entries_.start();
  std::ranges::fill(buckets_.all(), nil);
}

bool Neighbours::is_ours(Ipv4 address) const {
  return std::ranges::find(identity_.addresses, IpAddress::from(address)) !=
         identity_.addresses.end();
}

Index& Neighbours::bucket_of(IpAddress address) const {
  std::uint64_t const hash = TableHash(config_.key).add(address.high).add(address.low).finish();
  return buckets_[static_cast<Index>(hash & (buckets_.count() - 1))];
}

Index Neighbours::find(IpAddress address) const {
  Index index = bucket_of(address);
  while (index != nil && entries_[index].address != address) {
    index = entries_[index].chain;
  }
  return index;
}

// A new entry in the table, in state incomplete and in no list; nil if no slot is free.
Index Neighbours::add(IpAddress address) {
  Index const index = entries_.take();
  if (index == nil) {
    return nil;
  }
  Index const timer = entries_[index].timer;
  entries_[index] = Neighbour{};
  Neighbour& entry = entries_[index];
  entry.timer = timer != nil ? timer : wheel_.open({first_owner_.value + index});
  CHECK(entry.timer != nil);
  entry.address = address;
  entry.state = NeighbourState::incomplete;
  Index& bucket = bucket_of(address);
  entry.chain = bucket;
  bucket = index;
  return index;
}

void Neighbours::remove(Index index) {
  Neighbour& entry = entries_[index];
  CHECK(!changes().linked(index));
  Index* at = &bucket_of(entry.address);
  while (*at != index) {
    CHECK(*at != nil);
    at = &entries_[*at].chain;
  }
  *at = entry.chain;
  leave_order(entry, index);
  if (transmit().linked(index)) {
    transmit().remove(index);
  }
  wheel_.cancel(entry.timer);
  entry.state = NeighbourState::vacant;
  state_->recent = state_->recent == index ? nil : state_->recent;
  entries_.give(index);
}

void Neighbours::leave_order(Neighbour& entry, Index index) {
  if (passive().linked(index)) {
    (entry.active ? active() : passive()).remove(index);
  }
}

// Makes room. What others have told of themselves gives way first, so that a flood of them cannot
// push out whom we talk to; what somebody waits for never does.
bool Neighbours::evict(bool for_us) {
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

bool Neighbours::add_static(IpAddress address, Mac mac) {
  if (!address.is_v4() || !is_host(address.as_v4()) || !is_host(mac)) {
    return false;
  }
  Index index = find(address);
  if (index == nil) {
    index = add(address);
  }
  if (index == nil || entries_[index].state == NeighbourState::reachable) {
    return false;
  }
  entries_[index].mac = mac;
  entries_[index].state = NeighbourState::fixed;
  return true;
}

Lookup Neighbours::resolve(const Hop& hop) {
  Index index = state_->recent;
  if (index == nil || entries_[index].address != hop.next_hop) {
    index = find(hop.next_hop);
  }
  if (index == nil) {
    index = add(hop.next_hop);
    if (index == nil && evict(true)) {
      index = add(hop.next_hop);
    }
    if (index == nil) {
      return {LookupKind::unreachable, nil, {}};
    }
    entries_[index].request_source = hop.source.as_v4();
    ask(index);
    return {LookupKind::waiting, index, {}};
  }
  Neighbour& entry = entries_[index];
  if (entry.state == NeighbourState::incomplete || entry.state == NeighbourState::failed) {
    bool const waits = entry.state == NeighbourState::incomplete;
    return {waits ? LookupKind::waiting : LookupKind::unreachable, index, {}};
  }
  state_->recent = index;
  entry.used = true;
  if (!entry.active && entry.state != NeighbourState::fixed) {
    leave_order(entry, index);
    entry.active = true;
    entry.request_source = hop.source.as_v4();
    active().push_back(index);
  }
  return {LookupKind::resolved, index, entry.mac};
}

// Puts a request on the list of what is to be written.
void Neighbours::ask(Index index) {
  entries_[index].owes_request = true;
  if (!transmit().linked(index)) {
    transmit().push_back(index);
  }
}

void Neighbours::answer(Index index, Ipv4 asked) {
  entries_[index].owes_reply = true;
  entries_[index].reply_source = asked;
  if (!transmit().linked(index)) {
    transmit().push_back(index);
  }
}

//= rfc1122#3.3.1.4
//# 1122:H-40 the transport's negative advice
void Neighbours::doubt(IpAddress next_hop, Instant now) {
  Index const index = find(next_hop);
  if (index == nil || entries_[index].state != NeighbourState::reachable) {
    return;
  }
  wheel_.set(entries_[index].timer, now);
}

// The neighbour has said which link address it has.
void Neighbours::confirm(Index index, Mac mac, Instant now) {
  Neighbour& entry = entries_[index];
  bool const waited = entry.state == NeighbourState::incomplete;
  leave_order(entry, index);
  // Whoever waited for it is about to use it.
  entry.active = waited || entry.active;
  entry.used = waited;
  entry.mac = mac;
  entry.state = NeighbourState::reachable;
  entry.tries = 0;
  (entry.active ? active() : passive()).push_back(index);
  if (entry.owes_request) {
    entry.owes_request = false;
    if (!entry.owes_reply) {
      transmit().remove(index);
    }
  }
  //= rfc1122#2.3.2.1
  //# 1122:H-L1 an entry is believed for a configured time and then asked for again, or forgotten
  wheel_.set(entry.timer, now + config_.reachable_time);
  if (waited && !changes().linked(index)) {
    changes().push_back(index);
  }
}

// Nobody answered.
void Neighbours::fail(Index index, Instant now) {
  Neighbour& entry = entries_[index];
  leave_order(entry, index);
  entry.state = NeighbourState::failed;
  entry.active = false;
  wheel_.set(entry.timer, now + config_.retry_interval);
  if (!changes().linked(index)) {
    changes().push_back(index);
  }
}

// Removes an entry, once all were told of it who wait for it.
void Neighbours::forget(Index index, Instant now) {
  if (changes().linked(index)) {
    wheel_.set(entries_[index].timer, now + config_.retry_interval);
  } else {
    remove(index);
  }
}

void Neighbours::expire(Index index, Instant now) {
  CHECK(entries_.taken(index));
  Neighbour& entry = entries_[index];
  CHECK(entry.state != NeighbourState::vacant && entry.state != NeighbourState::fixed);
  switch (entry.state) {
    case NeighbourState::reachable:
      if (!entry.used) {
        forget(index, now);
        return;
      }
      // It is being sent to, so it is asked before it is forgotten.
      entry.state = NeighbourState::probing;
      entry.tries = 0;
      ask(index);
      return;
    case NeighbourState::incomplete:
    case NeighbourState::probing:
      if (entry.tries >= config_.tries_max.value) {
        fail(index, now);
      } else {
        ask(index);
      }
      return;
    case NeighbourState::failed:
    case NeighbourState::vacant:
    case NeighbourState::fixed:
      forget(index, now);
      return;
  }
}

// A request from 0.0.0.0: somebody wants an address and asks whether it is taken (RFC 5227 1.1).
Drop Neighbours::receive_probe(const wire::ArpPacket& packet) {
  if (packet.operation != wire::ArpOperation::request || !is_host(packet.sender_mac) ||
      packet.sender_mac == identity_.mac) {
    return Drop::arp_bad_sender;
  }
  if (!is_ours(packet.target)) {
    return Drop::arp_not_for_us;
  }
  state_->owes_probe_reply = true;
  state_->probe_mac = packet.sender_mac;
  state_->probe_target = packet.target;
  return Drop::none;
}

Drop Neighbours::receive(const wire::ArpPacket& packet, Instant now) {
  if (packet.sender.is_unspecified()) {
    return receive_probe(packet);
  }
  if (!is_host(packet.sender) || !is_host(packet.sender_mac) ||
      packet.sender_mac == identity_.mac || is_ours(packet.sender)) {
    return Drop::arp_bad_sender;
  }
  Index const known = find(IpAddress::from(packet.sender));
  if (known != nil && entries_[known].state == NeighbourState::fixed &&
      entries_[known].mac != packet.sender_mac) {
    return Drop::arp_static_conflict;
  }
  //= rfc826#Packet-Reception
  //# 826:ARP-5 the opcode decides about an answer only; a packet that is for others ends here
  return packet.operation == wire::ArpOperation::reply ? receive_reply(packet, known, now)
                                                       : receive_request(packet, known, now);
}

// Anybody can send a reply, so it counts only for what was asked for of late: also if the way there
// and back takes longer than all tries.
Drop Neighbours::receive_reply(const wire::ArpPacket& packet, Index known, Instant now) {
  if (known == nil || !is_ours(packet.target) ||
      (entries_[known].state != NeighbourState::incomplete &&
       entries_[known].state != NeighbourState::probing &&
       entries_[known].state != NeighbourState::failed)) {
    return Drop::arp_unsolicited;
  }
  confirm(known, packet.sender_mac, now);
  return Drop::none;
}

Drop Neighbours::receive_request(const wire::ArpPacket& packet, Index known, Instant now) {
  bool const for_us = is_ours(packet.target);
  //= rfc826#Packet-Reception
  //# 826:ARP-3 what a known sender says of itself is taken over, whomever it asks for
  if (known != nil && entries_[known].state != NeighbourState::fixed) {
    confirm(known, packet.sender_mac, now);
  }
  if (!for_us) {
    //= rfc826#Packet-Reception
    //# 826:ARP-7 a packet for others makes no entry
    return known != nil ? Drop::none : Drop::arp_not_for_us;
  }
  Index index = known;
  if (index == nil) {
    //= rfc826#Packet-Reception
    //# 826:ARP-4 whoever asks for us will be answered and sent to: it gets an entry
    IpAddress const sender = IpAddress::from(packet.sender);
    index = add(sender);
    if (index == nil && evict(false)) {
      index = add(sender);
    }
    if (index == nil) {
      return Drop::arp_cache_full;
    }
    entries_[index].request_source = packet.target;
    entries_[index].state = NeighbourState::failed;  // nobody waits for it
    confirm(index, packet.sender_mac, now);
  }
  answer(index, packet.target);
  return Drop::none;
}

Bytes Neighbours::write_next(Instant now, std::span<std::byte> into) {
  CHECK(into.size() >= arp_frame_bytes);
  wire::ArpPacket packet;
  packet.sender_mac = identity_.mac;
  Mac destination = Mac::broadcast();
  if (state_->owes_probe_reply) {
    state_->owes_probe_reply = false;
    packet.operation = wire::ArpOperation::reply;
    packet.sender = state_->probe_target;
    packet.target_mac = destination = state_->probe_mac;
  } else {
    Index const index = transmit().first();
    if (index == nil) {
      return {0};
    }
    Neighbour& entry = entries_[index];
    packet.target = entry.address.as_v4();
    //= rfc826#Packet-Reception
    //# 826:ARP-6 sender and target swapped, our addresses as the sender, to the asker alone
    if (entry.owes_reply) {
      entry.owes_reply = false;
      packet.operation = wire::ArpOperation::reply;
      packet.sender = entry.reply_source;
      packet.target_mac = destination = entry.mac;
    } else {
      CHECK(entry.owes_request);
      entry.owes_request = false;
      packet.sender = entry.request_source;
      ++entry.tries;
      //= rfc1122#2.3.2.1
      //# 1122:H-L2 requests for one address keep a distance, counted from when they are sent
      wheel_.set(entry.timer, now + config_.retry_interval);
    }
    if (!entry.owes_request) {
      transmit().remove(index);
    }
  }
  //= rfc826#Packet-Generation
  //# 826:ARP-1 requests are broadcast, in frames of type 0x0806
  Bytes const header =
      wire::write({destination, identity_.mac, wire::EtherType::arp, identity_.vlan}, into);
  return header + wire::write(packet, into.subspan(header.count));
}

bool Neighbours::next_change(NeighbourChange& out) {
  Index const index = changes().pop_front();
  if (index == nil) {
    return false;
  }
  out = {index, has_link_address(entries_[index].state)};
  return true;
}

bool Neighbours::sound() const {
  if (!passive().sound() || !active().sound() || !transmit().sound() || !changes().sound()) {
    return false;
  }
  std::uint32_t chained = 0;
  for (Index index : buckets_.all()) {
    for (; index != nil && chained <= capacity(); index = entries_[index].chain) {
      Neighbour const& entry = entries_[index];
      bool const ordered =
          entry.state == NeighbourState::reachable || entry.state == NeighbourState::probing;
      bool const to_write = entry.owes_request || entry.owes_reply;
      bool const timed = entry.state != NeighbourState::fixed && !entry.owes_request;
      if (!entries_.taken(index) || find(entry.address) != index ||
          passive().linked(index) != ordered || transmit().linked(index) != to_write ||
          wheel_.is_set(entry.timer) != timed) {
        return false;
      }
      ++chained;
    }
  }
  return chained == entries_.used();
}

}  // namespace lockstep::link
