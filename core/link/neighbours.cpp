// The ARP cache: its table, requests and replies, and expiry.
#include "core/link/neighbours.hpp"

#include <algorithm>
#include <bit>

#include "core/units/check.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep::link {
namespace {

constexpr std::uint32_t arp_frame_bytes =
    wire::ethernet_header_bytes + wire::vlan_tag_bytes + wire::arp_packet_bytes;

// Whether a host of this link can have this address.
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
  CHECK(config.tries_max.value != 0 && config.tries_max.value <= 0xff);
  Neighbours neighbours;
  neighbours.config_ = config;
  neighbours.first_owner_ = first_owner;
  neighbours.wheel_ = wheel;
  neighbours.state_ = layout.place<State>(Count{1}).data();
  neighbours.table_ = NeighbourTable<Neighbour>::lay_out(
      layout, {config.entries_max, config.key, first_owner}, wheel);
  return neighbours;
}

void Neighbours::start() {
  *state_ = State{};
  state_->random = Random(config_.seed);
  table_.start();
}

bool Neighbours::add_static(IpAddress address, Mac mac) {
  if (!address.is_v4() || !is_host(address.as_v4()) || !is_host(mac)) {
    return false;
  }
  Index index = find(address);
  if (index == nil) {
    index = table_.add(address);
  }
  if (index == nil || table_[index].state == NeighbourState::reachable) {
    return false;
  }
  table_.leave_order(index);
  table_[index].mac = mac;
  table_[index].state = NeighbourState::fixed;
  return true;
}

Lookup Neighbours::resolve(const Hop& hop) {
  Index index = table_.find_recent(hop.next_hop);
  if (index == nil) {
    index = table_.add_incomplete(hop.next_hop, hop.asker);
    if (index == nil) {
      return {LookupKind::unreachable, nil, {}};
    }
    table_[index].request_source = hop.source.as_v4();
    table_.ask(index);
    return {LookupKind::waiting, index, {}};
  }
  Neighbour& entry = table_[index];
  if (entry.state == NeighbourState::incomplete || entry.state == NeighbourState::failed) {
    bool const waits = entry.state == NeighbourState::incomplete;
    if (hop.asker == Asker::ours) {
      table_.want(index);
    }
    return {waits ? LookupKind::waiting : LookupKind::unreachable, index, {}};
  }
  table_.remember(index);
  entry.used = true;
  if (!entry.active && entry.state != NeighbourState::fixed) {
    table_.leave_order(index);
    entry.active = true;
    entry.request_source = hop.source.as_v4();
    table_.join_order(index);
  }
  return {LookupKind::resolved, index, entry.mac};
}

void Neighbours::answer(Index index, Ipv4 asked) {
  table_[index].reply_pending = true;
  table_[index].reply_source = asked;
  table_.write(index);
}

//= rfc1122#3.3.1.4
//# 1122:H-40 negative advice from the transport
void Neighbours::doubt(IpAddress next_hop, Instant now) {
  Index const index = find(next_hop);
  if (index == nil || table_[index].state != NeighbourState::reachable ||
      now.since(table_[index].confirmed) < config_.retry_interval * config_.tries_max.value) {
    return;
  }
  table_.set_timer(index, now);
}

// The neighbour has sent its link address.
void Neighbours::confirm(Index index, Mac mac, Instant now) {
  Neighbour& entry = table_[index];
  bool const waited = entry.state == NeighbourState::incomplete;
  bool const unknown = waited || entry.state == NeighbourState::failed;
  if (unknown) {
    table_.make_room_for_answer();
  }
  table_.leave_order(index);
  // Those that waited for it are about to use it.
  entry.active = waited || entry.active;
  entry.used = waited;
  entry.mac = mac;
  entry.state = NeighbourState::reachable;
  entry.tries = 0;
  entry.confirmed = now;
  table_.join_order(index);
  if (entry.request_pending) {
    entry.request_pending = false;
    if (!entry.reply_pending) {
      table_.transmit().remove(index);
    }
  }
  //= rfc1122#2.3.2.1
  //# 1122:H-L1 an entry is valid for a configured time, then requested again or removed
  table_.set_timer(index, now + config_.reachable_time);
  if (waited) {
    table_.notify(index);
  }
}

// There was no answer.
void Neighbours::fail(Index index, Instant now) {
  Neighbour& entry = table_[index];
  table_.leave_order(index);
  entry.state = NeighbourState::failed;
  entry.active = false;
  table_.join_order(index);
  table_.set_timer(index, now + config_.retry_interval);
  table_.notify(index);
}

// Removes an entry; if something waits for it, only after the notification.
void Neighbours::forget(Index index, Instant now) {
  if (table_.changes().linked(index)) {
    table_.set_timer(index, now + config_.retry_interval);
  } else {
    table_.remove(index);
  }
}

void Neighbours::expire(Index index, Instant now) {
  if (index == capacity()) {
    expire_own(now);
  } else {
    expire_entry(index, now);
  }
}

void Neighbours::expire_entry(Index index, Instant now) {
  CHECK(table_.taken(index));
  Neighbour& entry = table_[index];
  CHECK(entry.state != NeighbourState::vacant && entry.state != NeighbourState::fixed);
  switch (entry.state) {
    case NeighbourState::reachable:
      if (!entry.used) {
        forget(index, now);
        return;
      }
      // It is in use, so it is requested before it is removed.
      entry.state = NeighbourState::probing;
      entry.tries = 0;
      table_.ask(index);
      return;
    case NeighbourState::incomplete:
    case NeighbourState::probing:
      if (entry.tries >= config_.tries_max.value) {
        fail(index, now);
      } else {
        table_.ask(index);
      }
      return;
    case NeighbourState::failed:
    case NeighbourState::vacant:
    case NeighbourState::fixed:
      forget(index, now);
      return;
  }
}

void Neighbours::answer_without_entry(const wire::ArpPacket& packet) {
  if (state_->asker_count == askers_max) {  // the oldest gives way: it will ask again
    state_->first_asker = (state_->first_asker + 1) % askers_max;
    --state_->asker_count;
  }
  std::uint32_t const place = (state_->first_asker + state_->asker_count) % askers_max;
  state_->askers[place] = {packet.sender_mac, packet.target, packet.sender};
  ++state_->asker_count;
}

Drop Neighbours::receive(const wire::ArpPacket& packet, Instant now) {
  if (packet.sender.is_unspecified()) {
    return receive_probe(packet, now);
  }
  if (!is_host(packet.sender) || !is_host(packet.sender_mac) ||
      packet.sender_mac == identity_.mac) {
    return Drop::arp_bad_sender;
  }
  if (std::uint32_t const ours = bit_of(packet.sender); ours != 0) {
    return note_conflict(packet, ours, now);
  }
  Index const known = find(IpAddress::from(packet.sender));
  if (known != nil && table_[known].state == NeighbourState::fixed &&
      table_[known].mac != packet.sender_mac) {
    return Drop::arp_static_conflict;
  }
  //= rfc826#Packet-Reception
  //# 826:ARP-5 the opcode only decides about a reply; a packet for others ends here
  return packet.operation == wire::ArpOperation::reply ? receive_reply(packet, known, now)
                                                       : receive_request(packet, known, now);
}

// Anyone can send a reply, so only one to a recent request counts, even if the round trip takes
// longer than all tries.
Drop Neighbours::receive_reply(const wire::ArpPacket& packet, Index known, Instant now) {
  if (known == nil || !is_ours(packet.target) ||
      (table_[known].state != NeighbourState::incomplete &&
       table_[known].state != NeighbourState::probing &&
       table_[known].state != NeighbourState::failed)) {
    return Drop::arp_unsolicited;
  }
  confirm(known, packet.sender_mac, now);
  return Drop::none;
}

Drop Neighbours::receive_request(const wire::ArpPacket& packet, Index known, Instant now) {
  std::uint32_t const ours = bit_of(packet.target);
  bool const for_us = (ours & ~state_->unusable) != 0;
  //= rfc826#Packet-Reception
  //# 826:ARP-3 a known sender updates its entry, whatever address it requests
  if (known != nil && table_[known].state != NeighbourState::fixed) {
    confirm(known, packet.sender_mac, now);
  }
  if (!for_us) {
    if (ours != 0) {
      return Drop::ip_tentative;
    }
    //= rfc826#Packet-Reception
    //# 826:ARP-7 a packet for others creates no entry
    return known != nil ? Drop::none : Drop::arp_not_for_us;
  }
  Index index = known;
  if (index == nil) {
    //= rfc826#Packet-Reception
    //# 826:ARP-4 a host that requests our address will receive packets from us: create an entry
    index = table_.add_learned(IpAddress::from(packet.sender));
    if (index == nil) {
      // It is answered anyway, so that it can reach us.
      answer_without_entry(packet);
      return Drop::arp_cache_full;
    }
    table_[index].request_source = packet.target;
    table_[index].state = NeighbourState::reachable;  // nothing waits for it
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
  if (state_->probes_pending != 0) {
    packet = next_probe();
  } else if (state_->asker_count != 0) {
    Requester const asker = state_->askers[state_->first_asker];
    state_->first_asker = (state_->first_asker + 1) % askers_max;
    --state_->asker_count;
    packet.operation = wire::ArpOperation::reply;
    packet.sender = asker.target;
    packet.target = asker.sender;
    packet.target_mac = destination = asker.mac;
  } else if (state_->pending != 0) {
    // A request for our own address.
    auto const place = static_cast<std::uint32_t>(std::countr_zero(state_->pending));
    state_->pending &= state_->pending - 1;
    packet.sender = packet.target = identity_.addresses[place].as_v4();
  } else {
    Index const index = table_.transmit().first();
    if (index == nil) {
      return {0};
    }
    Neighbour& entry = table_[index];
    packet.target = entry.address.as_v4();
    //= rfc826#Packet-Reception
    //# 826:ARP-6 sender and target swapped, our addresses as sender, only to the requester
    if (entry.reply_pending) {
      entry.reply_pending = false;
      packet.operation = wire::ArpOperation::reply;
      packet.sender = entry.reply_source;
      packet.target_mac = destination = entry.mac;
    } else {
      CHECK(entry.request_pending);
      entry.request_pending = false;
      packet.sender = entry.request_source;
      ++entry.tries;
      //= rfc1122#2.3.2.1
      //# 1122:H-L2 requests for one address keep a minimum interval, counted from transmission
      table_.set_timer(index, now + config_.retry_interval);
    }
    if (!entry.request_pending) {
      table_.transmit().remove(index);
    }
  }
  //= rfc826#Packet-Generation
  //# 826:ARP-1 requests are broadcast, in frames of type 0x0806
  Bytes const header =
      wire::write({destination, identity_.mac, wire::EtherType::arp, identity_.vlan}, into);
  return header + wire::write(packet, into.subspan(header.count));
}

bool Neighbours::next_change(NeighbourChange& out) {
  Index const index = table_.changes().pop_front();
  if (index == nil) {
    return false;
  }
  out = {index, has_link_address(table_[index].state)};
  return true;
}

bool Neighbours::sound() const {
  return table_.sound([](const Neighbour& entry) {
    bool const ordered = entry.state != NeighbourState::fixed;
    bool const timed = entry.state != NeighbourState::fixed && !entry.request_pending;
    return NeighbourPlace{ordered, entry.request_pending || entry.reply_pending, timed};
  });
}

}  // namespace lockstep::link
