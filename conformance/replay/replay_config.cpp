// The configuration that a script is played on: what its capture shows of the device.
#include <algorithm>

#include "conformance/replay/live.hpp"
#include "core/units/random.hpp"

namespace lockstep::conformance {
namespace {

constexpr std::uint32_t buffer_max = 32u << 20;

/// Takes the options of the device's SYN, and the buffer size that its window implies.
void speak_as_the_device(const Script& script, tcp::Config& config) {
  // A passive device does not show options that the peer did not offer.
  bool const shows = script.role == Role::active;
  if (shows || script.peer_scale) {
    config.window_scale = script.offered_shift.has_value();
  }
  config.window_shift_automatic = false;
  config.window_shift = static_cast<std::uint8_t>(std::min(script.offered_shift.value_or(0), 14u));
  if (shows || script.peer_stamps) {
    config.timestamps = script.offered_stamps;
  }
  if (shows || script.peer_selective) {
    config.sack = script.offered_selective;
  }
  config.fast_open_server = config.fast_open_server || script.listens_fast;
  config.fast_open_client = config.fast_open_client || script.device_cookie.has_value();
  if (script.refuses_ecn || (shows && !script.asks_ecn)) {
    config.ecn = tcp::EcnPolicy::off;
  } else if (script.asks_ecn) {
    config.ecn = tcp::EcnPolicy::on;
  } else if (script.marked && config.ecn == tcp::EcnPolicy::off) {
    config.ecn = tcp::EcnPolicy::accept;
  }
  // Some systems accept segments without the negotiated timestamps.
  config.timestamps_required = false;
  std::uint32_t const blocks = config.receive_buffer.count / config.block_bytes.count;
  config.blocks_max = Count{std::max(config.blocks_max.value, 4 * blocks)};
}

bool usable(const IpAddress& address) {
  if (!address.is_v4()) {
    return address.is_v6_host();
  }
  Ipv4 const v4 = address.as_v4();
  return !v4.is_reserved() && !v4.is_multicast() && !v4.is_loopback();
}

}  // namespace

PlayedAddresses played_addresses(const Script& script) {
  bool const both = usable(script.device.address) && usable(script.peer.address) &&
                    script.device.address.is_v4() == script.peer.address.is_v4() &&
                    script.device.address != script.peer.address;
  if (script.comparison == Comparison::exact || both) {
    return {script.device.address, script.peer.address};
  }
  // Of the same family, because ICMP messages quote packets of it.
  if (!script.device.address.is_v4()) {
    constexpr std::uint64_t local = 0xfd00'0000'0000'0000;
    return {{local, 1}, {local, 2}};
  }
  return {IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 0, 2)};
}

Config replay_config(const Script& script, const Config& base, bool keep_buffers) {
  Config config = base;
  PlayedAddresses const addresses = played_addresses(script);
  bool const six = !addresses.device.is_v4();
  std::uint8_t const near = six ? 64 : 24;
  bool const same = common_bits({addresses.device, addresses.peer}) >= near + (six ? 0u : 96u);
  // Such an address is an ordinary host of a larger network, not a broadcast address.
  auto const is_edge = [](IpAddress address) {
    return (address.low & 0xff) == 0 || (address.low & 0xff) == 0xff;
  };
  bool const edge = !six && (is_edge(addresses.device) || is_edge(addresses.peer));
  std::uint8_t const prefix = same && !edge ? near : 0;
  // The captured packets show what the path carries: IPv6 packets must not be fragmented.
  config.tcp.path_mtu_discovery = config.tcp.path_mtu_discovery || six;
  config.link = LinkType::ip;
  config.addresses[0] = {addresses.device, prefix};
  config.address_count = Count{1};
  config.tcp.connections_max = Count{16};
  config.tcp.active_max = Count{16};
  config.tcp.time_wait_max = Count{16};
  config.tcp.listeners_max = Count{8};
  config.tcp.blocks_max = Count{1024};
  config.tcp.extents_max = Count{1024};
  config.tcp.owed_max = Count{1024};
  config.tcp.pieces_max = Count{2048};
  config.frames_per_turn = Count{4096};
  if (script.comparison == Comparison::obligations && !keep_buffers) {
    std::uint32_t const mss = std::clamp(script.device_mss.count, 88u, 65'495u);
    set_mtu(config, Bytes{std::min(six ? std::max(mss + 60, 1'280u) : mss + 40, 65'535u)});
    config.tcp.mss = least(config.tcp.mss, Bytes{mss});
    if (script.receive_buffer != 0) {
      std::uint32_t const most = script.scaled ? buffer_max : 65'535;
      config.tcp.receive_buffer = Bytes{std::min(script.receive_buffer, most)};
    }
  }
  if (script.comparison == Comparison::obligations) {
    // The buffers have the captured sizes and do not grow.
    config.tcp.receive_buffer_max = {};
    config.tcp.send_buffer_max = {};
    speak_as_the_device(script, config.tcp);
  }
  if (script.inferred) {
    config.tcp.nagle = false;  // the captured application's writes are known only as they were sent
  }
  draw_keys(config, entropy_of(Random(0).fork("replay")));
  return config;
}

}  // namespace lockstep::conformance
