// Profiles, and validation of configurations.
#include "core/stack/config.hpp"

#include <algorithm>
#include <span>

#include "core/internet/addresses.hpp"
#include "core/link/neighbour_table.hpp"
#include "core/stack/config_fields.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep {
namespace {

bool power_of_two(std::uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

std::string_view fault_of_own_addresses(const Config& config) {
  if (config.address_count.value == 0 || config.address_count.value > Config::addresses_max) {
    return "address_count: must be 1 to 8";
  }
  for (std::uint32_t i = 0; i < config.address_count.value; ++i) {
    HostAddress const& host = config.addresses[i];
    bool const v6 = !host.address.is_v4();
    if (!internet::is_host(host.address) || host.prefix_bits > (v6 ? 128 : 32)) {
      return "addresses: each must be a host address with a prefix of 0 to 32 bits (IPv6: to 128)";
    }
    for (std::uint32_t k = 0; k < i; ++k) {
      if (config.addresses[k].address == host.address) {
        return "addresses: the same address is listed twice";
      }
    }
    //= rfc8200#5
    //# 8200:V6-23 every IPv6 link carries at least 1280 octets
    if (v6 && config.mtu.count < wire::ipv6_mtu_least) {
      return "mtu_bytes: must be at least 1280 for IPv6";
    }
  }
  return {};
}

std::string_view fault_of_neighbours(const Config& config) {
  if (config.static_neighbour_count.value > Config::static_neighbours_max) {
    return "static_neighbour_count: must be at most 64";
  }
  auto const own = std::span(config.addresses).first(config.address_count.value);
  bool const has_v6 =
      !std::ranges::all_of(own, [](const HostAddress& host) { return host.address.is_v4(); });
  std::uint32_t v4 = 0;
  std::uint32_t v6 = 0;
  for (std::uint32_t i = 0; i < config.static_neighbour_count.value; ++i) {
    StaticNeighbour const& neighbour = config.static_neighbours[i];
    if (!internet::is_host(neighbour.address) || !link::is_host(neighbour.mac)) {
      return "static_neighbours: each needs a host address and a unicast link address";
    }
    ++(neighbour.address.is_v4() ? v4 : v6);
  }
  if (v6 != 0 && config.link == LinkType::ethernet && !has_v6) {
    return "static_neighbours: an IPv6 neighbour requires an IPv6 address in addresses";
  }
  if (v4 > config.neighbours_max.value || v6 > config.neighbours_max.value) {
    return "static_neighbours: more than neighbours_max";
  }
  return {};
}

std::string_view fault_of_routes(const Config& config) {
  if (config.route_count.value > Config::routes_max) {
    return "route_count: must be at most 15";
  }
  for (std::uint32_t i = 0; i < config.route_count.value; ++i) {
    ConfigRoute const& route = config.routes[i];
    bool const v4 = route.prefix.is_v4() && route.gateway.is_v4() && route.prefix_bits <= 32;
    bool const v6 = !route.prefix.is_v4() && route.gateway.is_v6_host() && route.prefix_bits <= 128;
    if (route.gateway.is_unspecified() || (!v4 && !v6)) {
      return "routes: each needs a prefix and a gateway of the same family";
    }
  }
  if (!config.gateway.is_unspecified() && !config.gateway.is_v4()) {
    return "gateway: must be IPv4; for IPv6 add a route with a prefix of 0 bits";
  }
  return {};
}

std::string_view fault_of_link(const Config& config) {
  for (auto const fault_of_part : {fault_of_own_addresses, fault_of_routes, fault_of_neighbours}) {
    std::string_view const fault = fault_of_part(config);
    if (!fault.empty()) {
      return fault;
    }
  }
  if (config.vlan > wire::vlan_max) {
    return "vlan: must be 1 to 4094, or 0 for no tag";
  }
  if (config.link == LinkType::ethernet && config.mac.is_group()) {
    return "mac: must not be a group address";
  }
  return {};
}

// Checked last, because a configuration read from a file has no keys yet.
std::string_view fault_of_keys(const Config& config) {
  tcp::Config const& tcp = config.tcp;
  if (static_cast<std::uint32_t>(tcp.congestion) >= tcp::congestion_words().size()) {
    return "congestion: no controller has this number; add_controller() comes first";
  }
  if (tcp.table_key.is_zero()) {
    return "table_key: must not be zero; call draw_keys() to set the keys";
  }
  if (tcp.isn_key.is_zero()) {
    return "isn_key: must not be zero; call draw_keys() to set the keys";
  }
  if (tcp.port_key.is_zero()) {
    return "port_key: must not be zero; call draw_keys() to set the keys";
  }
  if (tcp.fast_open_key.is_zero()) {
    return "fast_open_key: must not be zero; call draw_keys() to set the keys";
  }
  if (tcp.timestamp_key.is_zero()) {
    return "timestamp_key: must not be zero; call draw_keys() to set the keys";
  }
  return {};
}

}  // namespace

Entropy entropy_of(Random stream) {
  Entropy out;
  for (std::uint64_t& word : out) {
    word = stream.next();
  }
  return out;
}

void draw_keys(Config& config, const Entropy& entropy) {
  tcp::Config& tcp = config.tcp;
  std::size_t at = 0;
  for (HashKey* const key :
       {&tcp.table_key, &tcp.isn_key, &tcp.port_key, &tcp.fast_open_key, &tcp.timestamp_key}) {
    if (key->is_zero()) {
      *key = {entropy[at], entropy[at + 1]};
    }
    at += 2;
  }
}

void switch_extensions_off(Config& config) {
  config.reassembly_datagrams = Count{0};
  config.announcements = Count{0};
  tcp::Config& tcp = config.tcp;
  tcp.receive_buffer_max = Bytes{};
  tcp.send_buffer_max = Bytes{};
  tcp.congestion = tcp::Congestion::reno;
  tcp.hystart = false;
  tcp.ecn = tcp::EcnPolicy::off;
  tcp.sack = false;
  tcp.dsack = false;
  tcp.prr = false;
  tcp.rack = false;
  tcp.tail_probe = false;
  tcp.frto = false;
  tcp.undo = false;
  tcp.undo_by_timestamps = false;
  tcp.challenge_jitter = false;
  tcp.challenges_per_connection = Count{65535};
  tcp.syn_cookies = tcp::SynCookies::off;
  tcp.syn_cache_max = Count{0};
  tcp.window_scale = false;
  tcp.timestamps = false;
  tcp.path_mtu_discovery = false;
  tcp.mss_least = Bytes{28};
  tcp.path_mtu_least = Bytes{68};
  tcp.path_mtu_probing = false;
  tcp.user_timeout_option = false;
  tcp.fast_open_server = false;
  tcp.fast_open_client = false;
}

Config profile_rfc() {
  Config config;
  tcp::Config& tcp = config.tcp;
  tcp.nagle_minshall = false;
  tcp.delayed_ack = Duration::milliseconds(200);
  tcp.ack_stretch_segments = Count{2};
  tcp.rto_min = Duration::seconds(1);
  tcp.msl = Duration::seconds(120);
  tcp.orphan_timeout = Duration{};
  tcp.time_wait_ignores_reset = false;
  tcp.initial_window = tcp::InitialWindow::rfc5681;
  tcp.slow_start_segments = Count{1};
  switch_extensions_off(config);
  return config;
}

Config profile_linux() {
  Config config;
  config.announcements = Count{0};
  tcp::Config& tcp = config.tcp;
  tcp.delayed_ack = Duration::milliseconds(40);
  tcp.ack_stretch_segments = Count{2};
  tcp.rto_min = Duration::milliseconds(200);
  tcp.persist_max = Duration::seconds(120);
  tcp.orphan_timeout = Duration::seconds(360);
  tcp.orphan_until_persist_max = true;
  tcp.give_up_at_timer = true;
  tcp.user_timeout = Duration::seconds(924);
  tcp.syn_timeout = Duration::seconds(127);
  tcp.fast_open_client = true;
  tcp.window_shift_automatic = false;
  tcp.window_shift = 7;
  tcp.challenges_per_second = Count{1000};
  tcp.answer_interval = Duration::milliseconds(500);
  tcp.unsent_answered = false;
  tcp.timer_steps = true;
  tcp.probe_from_answer = true;
  tcp.syn_after_bad_ack = Duration::milliseconds(2);
  tcp.syn_received_timeout = Duration::seconds(63);
  tcp.options_lenient = true;
  tcp.bad_cookie_reset = true;
  tcp.soft_errors_end_open = true;
  tcp.segment_half_window = true;
  tcp.window_smaller_ignored = true;
  tcp.shrunk_retransmitted = true;
  tcp.path_mtu_stalled = Duration::seconds(3);
  tcp.path_mtu_plateaus = false;
  tcp.path_mtu_slow_start = false;
  tcp.duplicates_in_flight = true;
  tcp.dsack_before_reordering = false;
  tcp.timestamps_required = false;
  tcp.timestamps_behind = Count{1};
  tcp.receive_buffer_max = Bytes{6 << 20};
  tcp.send_buffer_max = Bytes{4 << 20};
  tcp.path_mtu_probing = false;
  tcp.path_mtu_low = Bytes{1064};
  tcp.hystart = false;
  tcp.slow_start_segments = Count{65'535};
  tcp.quick_acks = Count{16};
  tcp.rto_min_added = true;
  tcp.time_wait_ignores_reset = false;
  tcp.syn_linear_timeouts = Count{4};
  tcp.window_probe_data = false;
  tcp.slow_start_below_twice = true;
  tcp.reset_acknowledges = true;
  tcp.reset_stamps = false;
  tcp.syn_data = false;
  tcp.push_syn_data = false;
  tcp.push_bursts = true;
  tcp.window_update_doubles = true;
  tcp.fast_open_by_addresses = true;
  tcp.buffers_doubled = true;
  tcp.errors_like_linux = true;
  tcp.urgent_apart = true;
  tcp.recovery_held = true;
  tcp.user_timeout_while_answered = true;
  tcp.simultaneous_answered = true;
  return config;
}

Config profile_freebsd() {
  Config config;
  config.announcements = Count{1};
  tcp::Config& tcp = config.tcp;
  tcp.nagle_minshall = false;
  tcp.delayed_ack = Duration::milliseconds(40);
  tcp.ack_stretch_segments = Count{2};
  tcp.rto_min = Duration::milliseconds(230);
  tcp.rto_max = Duration::seconds(64);
  tcp.msl = Duration::seconds(30);
  tcp.syn_timeout = Duration::seconds(75);
  tcp.orphan_timeout = Duration{};
  tcp.mss_least = Bytes{216};
  tcp.path_mtu_least = Bytes{256};
  tcp.ecn_syn_retries = Count{1};
  tcp.path_mtu_probing = false;
  tcp.slow_start_segments = Count{2};
  tcp.option_order = wire::OptionOrder::like_freebsd;
  tcp.receive_buffer = Bytes{65536};
  tcp.send_buffer = Bytes{32768};
  tcp.ack_each_second = true;
  tcp.push_syn_data = false;
  tcp.fast_open_needs_cookie = true;
  tcp.fast_open_retry = Duration::seconds(900);
  tcp.window_each_ack = true;
  tcp.receive_buffer_rounded = true;
  tcp.window_shift_automatic = false;
  tcp.window_shift = 6;
  tcp.challenges_per_connection = Count{65535};
  tcp.receive_buffer_max = Bytes{2 << 20};
  tcp.send_buffer_max = Bytes{2 << 20};
  tcp.rack = false;
  tcp.tail_probe = false;
  tcp.frto = false;
  tcp.undo = false;
  tcp.undo_by_timestamps = false;
  return config;
}

void set_mtu(Config& config, Bytes mtu) {
  //= rfc9293#3.7.1
  //# 9293:P-MSS-VALUE, 9293:MUST-67 the MTU minus the fixed IP and TCP headers
  config.mtu = mtu;
  config.tcp.mss = mtu - Bytes{40};
}

std::string_view fault_of(const Config& config) {
  std::string_view fault;
  visit_fields(config, [&](std::string_view name, Unit, FieldRange range, const auto& value) {
    std::uint64_t const number = number_of(value);
    if (fault.empty() && (number < range.least || number > range.most)) {
      fault = name;
    }
  });
  if (!fault.empty()) {
    return fault;
  }
  tcp::Config const& tcp = config.tcp;
  if (!power_of_two(tcp.block_bytes.count)) {
    return "block_bytes: must be a power of two";
  }
  if (tcp.blocks_max.value <= 2 * tcp.reserve_blocks.value) {
    return "blocks_max: must be more than twice reserve_blocks";
  }
  if (tcp.mss.count + 40 > config.mtu.count) {
    return "mss: must be at most mtu_bytes - 40";
  }
  if (tcp.port_first > tcp.port_last) {
    return "port_first: must not be above port_last";
  }
  if (tcp.user_timeout_least > tcp.user_timeout_most) {
    return "user_timeout_least: must not exceed user_timeout_most";
  }
  if (tcp.shard >= tcp.shards) {
    return "shard: must be below shards";
  }
  if (tcp.rto_min > tcp.rto_max) {
    return "rto_min: must not exceed rto_max";
  }
  std::string_view const fault_of_its_link = fault_of_link(config);
  return fault_of_its_link.empty() ? fault_of_keys(config) : fault_of_its_link;
}

}  // namespace lockstep
