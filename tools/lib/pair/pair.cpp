// The configuration of the pair's hosts, their memory, and skipping of idle time.
#include "tools/lib/pair/pair.hpp"

#include <algorithm>

#include "core/stack/statistics.hpp"
#include "core/stack/testing/test_keys.hpp"

namespace lockstep::tools::benchmark {
namespace {

constexpr Mac client_mac{{0x02, 0, 0, 0, 0, 1}};
constexpr Mac server_mac{{0x02, 0, 0, 0, 0, 2}};

Bytes frame_max(const PairSettings& settings) {
  constexpr std::uint32_t ethernet_header = 14;
  return settings.mtu + Bytes{settings.link == LinkType::ethernet ? ethernet_header : 0};
}

}  // namespace

IpAddress client_address() { return IpAddress::v4(10, 0, 0, 1); }

IpAddress server_address() { return IpAddress::v4(10, 0, 0, 2); }

Config config_of(const PairSettings& settings, bool server) {
  Config config;
  if (!settings.extensions) {
    switch_extensions_off(config);
  }
  config.link = settings.link;
  config.mac = server ? server_mac : client_mac;
  config.addresses[0] = {server ? server_address() : client_address(), 24};
  config.address_count = Count{1};
  config.static_neighbours[0] = {server ? client_address() : server_address(),
                                 server ? client_mac : server_mac};
  config.static_neighbour_count = Count{1};
  set_mtu(config, settings.mtu);
  tcp::Config& tcp = config.tcp;
  tcp.receive_buffer = settings.receive_buffer;
  tcp.ack_stretch_segments = settings.ack_stretch_segments;
  tcp.connections_max = settings.connections_max;
  tcp.active_max = settings.active_max;
  tcp.pieces_max = Count{std::max(tcp.pieces_max.value, settings.active_max.value)};
  tcp.owed_max = Count{std::max(tcp.owed_max.value, settings.active_max.value)};
  // Each connection may hold a small request or response: one block each for sending, and the
  // default number of blocks for receiving.
  tcp.blocks_max = Count{settings.blocks_max.value + settings.active_max.value * 2};
  bool const many = settings.active_max.value > tcp::Config{}.active_max.value;
  tcp.block_bytes = Bytes{many ? 256u : 8192u};
  // The same keys in every run, so that measurements do not depend on them.
  return test_keys(config);
}

Arena::Arena(std::uint64_t bytes) : memory_(bytes + 64) {
  auto const address = reinterpret_cast<std::uintptr_t>(memory_.data());
  bytes_ = std::span(memory_).subspan((64 - address % 64) % 64, bytes);
}

Pair::Pair(const PairSettings& settings)
    : to_server_(frame_max(settings)),
      to_client_(frame_max(settings)),
      client_arena_(Stack::arena_bytes(config_of(settings, false))),
      server_arena_(Stack::arena_bytes(config_of(settings, true))),
      client(config_of(settings, false), client_arena_.bytes()),
      server(config_of(settings, true), server_arena_.bytes()),
      client_port(to_client_, to_server_, clock_),
      server_port(to_server_, to_client_, clock_) {}

std::uint64_t Pair::retransmissions() const {
  return client.statistics().tcp.retransmissions + server.statistics().tcp.retransmissions;
}

std::uint64_t Pair::drops() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    sum += client.statistics().drops.of(drop) + server.statistics().drops.of(drop);
  }
  return sum;
}

void Pair::skip_idle_time() {
  Instant const next = earlier(client.deadline(), server.deadline());
  if (!next.is_never()) {
    clock_ = later(clock_, next);
  }
}

}  // namespace lockstep::tools::benchmark
