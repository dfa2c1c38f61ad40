// Received neighbour solicitations and advertisements (RFC 4861 7.2), and the messages we send.
#include <algorithm>

#include "core/link/discovery.hpp"
#include "core/units/check.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::link {
namespace {

constexpr std::uint8_t link_hop_limit = 255;

bool is_solicited_node(IpAddress address) {
  return address.high == IpAddress{}.solicited_node().high &&
         address.low >> 24 == IpAddress{}.solicited_node().low >> 24;
}

}  // namespace

// The index of an IPv6 address among ours, or tests_max.
std::uint32_t Discovery::place_of(IpAddress ours) const {
  auto const found = std::ranges::find(identity_.addresses, ours);
  bool const is = !ours.is_v4() && found != identity_.addresses.end();
  return is ? static_cast<std::uint32_t>(found - identity_.addresses.begin()) : tests_max;
}

Drop Discovery::receive(const DiscoveryArrival& arrival, const wire::NdMessage& message,
                        Instant now) {
  //= rfc4861#7.1.1
  //# 4861:ND-1 a hop limit of 255 proves that it was not forwarded
  //= rfc4861#7.1.2
  //# 4861:ND-3 for an advertisement, too
  //= rfc4861#6.1.2
  //# 4861:ND-36 and for a router advertisement
  if (arrival.hop_limit != link_hop_limit) {
    return Drop::nd_not_from_link;
  }
  //= rfc6980#5
  //# 6980:NDF-2 after a fragment header the whole message is ignored
  if (arrival.fragmented) {
    return Drop::nd_fragmented;
  }
  //= rfc4862#5.4.3
  //# 4862:DAD-8 our own message, looped back, is ignored
  if (arrival.from == identity_.mac ||
      (message.has_link_address && !is_host(message.link_address))) {
    return Drop::nd_bad_sender;
  }
  switch (message.type) {
    case wire::Icmp6Type::neighbour_solicitation:
      return receive_solicitation(arrival, message, now);
    case wire::Icmp6Type::neighbour_advertisement:
      return receive_advertisement(arrival, message, now);
    default:
      return receive_router(arrival, message, now);
  }
}

// A host has sent its own link address.
//= rfc4861#7.2.3
//# 4861:ND-14 the entry is created or changed
//# 4861:ND-15 a changed one is STALE; its router flag does not change
Drop Discovery::learn(IpAddress sender, Mac mac, bool router) {
  Index index = find(sender);
  if (index == nil) {
    index = add_known(sender, mac);
    if (index == nil) {
      return Drop::nd_cache_full;
    }
    table_[index].router = router;
    return Drop::none;
  }
  Discovered& entry = table_[index];
  entry.router = entry.router || router;
  if (entry.state == DiscoveryState::fixed) {
    return entry.mac == mac ? Drop::none : Drop::nd_static_conflict;
  }
  bool const waited = entry.state == DiscoveryState::incomplete;
  bool const unknown = waited || entry.state == DiscoveryState::failed;
  if (unknown || entry.mac != mac) {
    entry.mac = mac;
    entry.active = waited || entry.active;
    make_stale(index);
    if (unknown) {
      table_.notify(index);
    }
  }
  return Drop::none;
}

Drop Discovery::receive_solicitation(const DiscoveryArrival& arrival,
                                     const wire::NdMessage& message, Instant now) {
  bool const probing = arrival.source == IpAddress{};
  //= rfc4861#7.1.1
  //# 4861:ND-2 with an unspecified source: to a solicited-node group, and without a link address
  if (probing && (!is_solicited_node(arrival.destination) || message.has_link_address)) {
    return Drop::nd_malformed;
  }
  if (!probing && (!arrival.source.is_v6_host() || place_of(arrival.source) != tests_max)) {
    return Drop::nd_bad_sender;
  }
  std::uint32_t const own = place_of(message.target);
  //= rfc4861#7.2.3
  //# 4861:ND-13 the target is not ours: silently discarded
  if (own == tests_max || state_->tests[own].state == TestState::duplicate) {
    return Drop::nd_not_for_us;
  }
  if (state_->tests[own].state != TestState::usable) {
    //= rfc4862#5.4.3
    //# 4862:DAD-7 a tentative address is never answered for
    //# 4862:DAD-8 another host is testing the same address: neither may use it
    if (probing) {
      decide(own, TestState::duplicate, now);
    }
    return probing ? Drop::none : Drop::ip_tentative;
  }
  if (!config_.answers) {
    return Drop::wrong_shard;
  }
  //= rfc4861#7.2.3
  //# 4861:ND-16 unspecified source: no entry
  Drop const learned = !probing && message.has_link_address
                           ? learn(arrival.source, message.link_address, false)
                           : Drop::none;
  // Without space for an entry it is answered anyway, so that it can reach us.
  if (learned != Drop::none && learned != Drop::nd_cache_full) {
    return learned;
  }
  Answer answer;
  answer.target = message.target;
  //= rfc4861#7.2.4
  //# 4861:ND-18 to the sender, solicited; if unspecified, to all nodes, unsolicited
  answer.solicited = !probing;
  answer.to = probing ? all_nodes : arrival.source;
  answer.mac = probing ? group_mac(all_nodes) : arrival.from;
  return answers_.push_back(answer) ? learned : Drop::reply_queue_full;
}

Drop Discovery::receive_advertisement(const DiscoveryArrival& arrival,
                                      const wire::NdMessage& message, Instant now) {
  //= rfc4861#7.1.2
  //# 4861:ND-4 a solicited advertisement must be unicast
  if (arrival.destination.is_multicast() && message.solicited) {
    return Drop::nd_malformed;
  }
  std::uint32_t const own = place_of(message.target);
  if (own != tests_max) {
    //= rfc4862#5.4.4
    //# 4862:DAD-9 any advertisement for a tentative address means that another host has it
    if (state_->tests[own].state == TestState::tentative) {
      decide(own, TestState::duplicate, now);
      return Drop::none;
    }
    return Drop::nd_bad_sender;
  }
  Index const index = find(message.target);
  //= rfc4861#7.2.5
  //# 4861:ND-20 not solicited: no entry is created
  if (index == nil) {
    return Drop::nd_unsolicited;
  }
  return update(index, message, now);
}

// The table of RFC 4861 7.2.5.
Drop Discovery::update(Index index, const wire::NdMessage& message, Instant now) {
  Discovered& entry = table_[index];
  bool const same = !message.has_link_address || message.link_address == entry.mac;
  if (entry.state == DiscoveryState::fixed) {
    return same ? Drop::none : Drop::nd_static_conflict;
  }
  bool const waited = entry.state == DiscoveryState::incomplete;
  if (waited || entry.state == DiscoveryState::failed) {
    //= rfc4861#7.2.5
    //# 4861:ND-22 without a link address it has no information
    if (!message.has_link_address) {
      return Drop::nd_unsolicited;
    }
    //= rfc4861#7.2.5
    //# 4861:ND-21 stored; REACHABLE if solicited, otherwise STALE; override does not matter
    entry.mac = message.link_address;
    entry.router = message.router;
    entry.active = waited;
    make_stale(index);
    if (message.solicited) {
      make_reachable(index, now);
    }
    table_.notify(index);
    return Drop::none;
  }
  if (!message.override && !same) {
    //= rfc4861#7.2.5
    //# 4861:ND-23 another link address without override: STALE, but not changed
    if (entry.state == DiscoveryState::reachable) {
      make_stale(index);
    }
    return Drop::none;
  }
  //= rfc4861#7.2.5
  //# 4861:ND-25 IsRouter is updated; a host that is no longer a router is no default router
  if (entry.router && !message.router) {
    forget_router(entry.address);
  }
  entry.router = message.router;
  if (message.has_link_address) {
    entry.mac = message.link_address;
  }
  //= rfc4861#7.2.5
  //# 4861:ND-24 solicited: REACHABLE; otherwise STALE if the link address is new, else unchanged
  //= rfc4861#7.3.1
  //# 4861:ND-27 without the solicited flag it does not prove reachability
  if (message.solicited) {
    make_reachable(index, now);
  } else if (!same) {
    make_stale(index);
  }
  return Drop::none;
}

//= rfc6980#5
//# 6980:NDF-1 never fragmented: it has no extension header, and fits every link
Bytes Discovery::write_frame(const wire::Icmp6Path& path, Mac to, const wire::NdMessage& message,
                             std::span<std::byte> into) const {
  Bytes const link = wire::write({to, identity_.mac, wire::EtherType::ipv6, identity_.vlan}, into);
  std::span<std::byte> const body = into.subspan(link.count + wire::ipv6_header_bytes);
  Bytes const length = wire::write(path, message, body);
  wire::Ipv6Header header;
  header.source = path.source;
  header.destination = path.destination;
  header.next_header = static_cast<std::uint8_t>(wire::IpProtocol::icmpv6);
  header.hop_limit = link_hop_limit;
  return link + wire::write(header, length, into.subspan(link.count)) + length;
}

Bytes Discovery::write_answer(std::span<std::byte> into) {
  Answer const answer = answers_.front();
  answers_.pop_front();
  wire::NdMessage message;
  message.type = wire::Icmp6Type::neighbour_advertisement;
  message.target = answer.target;
  //= rfc4861#7.2.4
  //# 4861:ND-17 with our link address; we are not a router
  //# 4861:ND-19 and it overrides a cached one
  message.has_link_address = true;
  message.link_address = identity_.mac;
  message.solicited = answer.solicited;
  message.override = true;
  return write_frame({answer.target, answer.to}, answer.mac, message, into);
}

Bytes Discovery::write_request(Index index, Instant now, std::span<std::byte> into) {
  Discovered& entry = table_[index];
  CHECK(entry.request_pending);
  stop_asking(index);
  ++entry.tries;
  //= rfc4861#7.2.2
  //# 4861:ND-11 once per interval, counted from transmission
  table_.set_timer(index, now + state_->retransmission);
  wire::NdMessage message;
  message.target = entry.address;
  //= rfc4861#7.2.2
  //# 4861:ND-8 with our link address
  message.has_link_address = true;
  message.link_address = identity_.mac;
  bool const alone = entry.state == DiscoveryState::probe;
  IpAddress const to = alone ? entry.address : entry.address.solicited_node();
  //= rfc4861#7.2.2
  //# 4861:ND-9 from the address whose packet waits
  return write_frame({entry.request_source, to}, alone ? entry.mac : group_mac(to), message, into);
}

Bytes Discovery::write_next(Instant now, std::span<std::byte> into) {
  if (state_->tests_pending != 0) {
    return write_test(now, into);
  }
  if (!answers_.empty()) {
    return write_answer(into);
  }
  if (table_.transmit().first() != nil) {
    return write_request(table_.transmit().first(), now, into);
  }
  if (state_->solicitation_pending) {
    return write_router_solicitation(now, into);
  }
  return {0};
}

}  // namespace lockstep::link
