// Tests with many peers that each send little: a server with profile default.
#pragma once

#include <string>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {

inline Config crowd_config() {
  Config config;
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  return config;
}

struct Crowd : Kit {
  explicit Crowd(const Config& config = crowd_config()) : Kit(config) { listen(); }

  struct Remote {
    IpAddress address;
    std::uint16_t port = 0;
    std::uint32_t next = 0;  // the next sequence number that it expects from us
  };

  // Sequence numbers are absolute.
  void deliver_from(const Remote& from, Flags flags, std::uint32_t seq,
                    const std::string& data = {}) {
    peer = from.address;
    peer_iss = Sequence{0};
    wire::Segment s;
    s.source = {from.port};
    s.destination = {device_port};
    s.sequence = {seq};
    s.acknowledgment = {from.next};
    s.flags = flags;
    s.window = {65535};
    bool const syn = flags.syn();
    s.options.has_sack_permitted = syn;
    s.options.has_mss = syn;
    s.options.mss = syn ? 1460 : 0;
    send_segment(s, data);
    turn();
  }
};

}  // namespace lockstep::testing
