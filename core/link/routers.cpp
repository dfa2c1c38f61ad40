// Router advertisements (RFC 4861 6.3), as far as a host with configured addresses needs them.
#include <algorithm>

#include "core/link/discovery.hpp"
#include "core/units/check.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::link {
namespace {

constexpr std::uint8_t solicitations_max = 3;
constexpr Duration solicitation_interval = Duration::seconds(4);
constexpr Duration solicitation_delay = Duration::seconds(1);
constexpr std::uint32_t lifetime_for_ever = 0xffff'ffff;
// Values above one hour are invalid: the limit of RFC 4861 6.2.1.
constexpr std::uint32_t milliseconds_max = 3'600'000;

Instant end_of(Instant now, std::uint32_t lifetime_s) {
  return lifetime_s == lifetime_for_ever ? Instant::never() : now + Duration::seconds(lifetime_s);
}

}  // namespace

Drop Discovery::receive_router(const DiscoveryArrival& arrival, const wire::NdMessage& message,
                               Instant now) {
  // Router solicitations are for routers. A redirect would let any host of the link take over a
  // connection.
  //= rfc4861#8.1
  //# 4861:ND-43 redirects are ignored, valid or not
  if (message.type != wire::Icmp6Type::router_advertisement || !config_.follow_routers) {
    return Drop::nd_router;
  }
  //= rfc4861#6.1.2
  //# 4861:ND-36 from the router's link-local address
  if (!arrival.source.is_link_local() || place_of(arrival.source) != tests_max) {
    return Drop::nd_bad_sender;
  }
  process_router(arrival.source, message.lifetime_s, now);
  //= rfc4861#6.3.4
  //# 4861:ND-38 zero means unspecified, and changes nothing
  //# 4861:ND-39 other values are adopted; an MTU from 1280 to the link's own
  if (message.hop_limit != 0) {
    state_->hop_limit = message.hop_limit;
  }
  if (message.reachable_ms != 0 && message.reachable_ms <= milliseconds_max) {
    state_->reachable_time = Duration::milliseconds(message.reachable_ms);
  }
  if (message.retrans_ms != 0 && message.retrans_ms <= milliseconds_max) {
    state_->retransmission = Duration::milliseconds(message.retrans_ms);
  }
  if (message.mtu >= wire::ipv6_mtu_least && message.mtu <= config_.mtu.count) {
    state_->mtu = {message.mtu};
  }
  for (std::uint32_t i = 0; i < message.prefix_count; ++i) {
    process_prefix(message.prefixes[i], now);
  }
  return message.has_link_address ? learn(arrival.source, message.link_address, true) : Drop::none;
}

//= rfc4861#6.3.4
//# 4861:ND-37 a default router for its lifetime, restarted by each advertisement; 0 removes it
void Discovery::process_router(IpAddress router, std::uint16_t lifetime_s, Instant now) {
  if (lifetime_s == 0) {
    forget_router(router);
    return;
  }
  //= rfc4861#6.3.7
  //# 4861:ND-42 a router is known: no more solicitations
  state_->router_known = true;
  state_->solicitation_pending = false;
  if (state_->router_timer != nil) {
    wheel_.cancel(state_->router_timer);
  }
  Router* place = nullptr;
  for (Router& known : state_->routers) {
    if (known.address == router) {
      place = &known;
      break;
    }
    if (place == nullptr && known.until <= now) {
      place = &known;
    }
  }
  if (place != nullptr) {
    *place = {router, now + Duration::seconds(lifetime_s)};
  }
}

void Discovery::forget_router(IpAddress router) {
  for (Router& known : state_->routers) {
    if (known.address == router) {
      known = Router{};
    }
  }
}

//= rfc4861#6.3.4
//# 4861:ND-40 L=0 has no meaning for the link; L=1: on-link for its lifetime, 0 removes it
void Discovery::process_prefix(const wire::NdPrefix& option, Instant now) {
  if (!option.on_link || option.bits == 0 || option.prefix.is_link_local()) {
    return;
  }
  OnLink* place = nullptr;
  for (OnLink& known : state_->prefixes) {
    bool const same =
        known.bits == option.bits && common_bits({known.prefix, option.prefix}) >= option.bits;
    if (same) {
      place = &known;
      break;
    }
    if (place == nullptr && known.until <= now) {
      place = &known;
    }
  }
  if (place != nullptr) {
    *place = {option.prefix, end_of(now, option.lifetime_s), option.bits};
  }
}

std::uint8_t Discovery::on_link_bits(IpAddress address, Instant now) const {
  std::uint8_t longest = 0;
  for (OnLink const& known : state_->prefixes) {
    if (known.until > now && common_bits({known.prefix, address}) >= known.bits) {
      longest = std::max(longest, known.bits);
    }
  }
  return longest;
}

//= rfc4861#6.3.6
//# 4861:ND-41 one whose link address is known, otherwise round robin
bool Discovery::default_router(IpAddress& out, Instant now) {
  Router const* any = nullptr;
  for (std::uint32_t i = 0; i < routers_max; ++i) {
    Router const& router = state_->routers[(state_->next_router + i) % routers_max];
    if (router.until <= now) {
      continue;
    }
    Index const known = find(router.address);
    bool const answers = known != nil && table_[known].state != DiscoveryState::incomplete &&
                         table_[known].state != DiscoveryState::failed;
    if (answers) {
      out = router.address;
      return true;
    }
    any = any == nullptr ? &router : any;
  }
  if (any == nullptr) {
    return false;
  }
  out = any->address;
  bool const failed = find(out) != nil && table_[find(out)].state == DiscoveryState::failed;
  state_->next_router = failed ? (state_->next_router + 1) % routers_max : state_->next_router;
  return true;
}

//= rfc4861#6.3.7
//# 4861:ND-42 at most three, four seconds apart, the first after a random delay of up to a second
void Discovery::begin_soliciting(Instant now) {
  if (!config_.follow_routers || state_->router_known || state_->router_timer != nil) {
    return;
  }
  state_->router_timer = wheel_.open({first_owner_.value + capacity() + tests_max});
  CHECK(state_->router_timer != nil);
  wheel_.set(state_->router_timer, now + Duration{state_->random.below(solicitation_delay.ns)});
}

void Discovery::expire_router_timer(Instant) {
  if (!state_->router_known && state_->solicitations < solicitations_max) {
    state_->solicitation_pending = true;
  }
}

Bytes Discovery::write_router_solicitation(Instant now, std::span<std::byte> into) {
  state_->solicitation_pending = false;
  ++state_->solicitations;
  wheel_.set(state_->router_timer, now + solicitation_interval);
  wire::NdMessage message;
  message.type = wire::Icmp6Type::router_solicitation;
  IpAddress source;
  for (std::uint32_t i = 0; i < identity_.addresses.size() && i < tests_max; ++i) {
    bool const usable = state_->tests[i].state == TestState::usable;
    if (usable && identity_.addresses[i].is_link_local()) {
      source = identity_.addresses[i];
    }
  }
  //= rfc4861#6.3.7
  //# 4861:ND-42 to all routers, with our link address unless the source is unspecified
  message.has_link_address = source != IpAddress{};
  message.link_address = identity_.mac;
  return write_frame({source, all_routers}, group_mac(all_routers), message, into);
}

}  // namespace lockstep::link
