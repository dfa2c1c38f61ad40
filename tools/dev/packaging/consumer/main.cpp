// Two stacks joined by a wire of one frame: the smallest program that opens a connection with
// Lockstep.
#include <array>
#include <cstddef>
#include <cstdio>
#include <new>
#include <random>
#include <span>
#include <vector>

#include "core/stack/stack.hpp"

using lockstep::Config;
using lockstep::Instant;
using lockstep::Refusal;
using lockstep::Stack;

namespace {

struct Aligned {
  alignas(64) std::array<std::byte, 64> bytes;
};

Config config_of(lockstep::IpAddress address) {
  Config config;
  config.link = lockstep::LinkType::ip;
  config.addresses[0] = {address, 24};
  config.address_count = {1};
  // Sequence numbers, ports and cookies must be unpredictable: each host draws its keys from the
  // system.
  std::random_device system;
  lockstep::Entropy entropy;
  for (auto& word : entropy) {
    word = std::uint64_t{system()} << 32 | system();
  }
  lockstep::draw_keys(config, entropy);
  return config;
}

// A host: the configuration, the memory of its stack, and the events that it received.
struct Host {
  explicit Host(lockstep::IpAddress address)
      : config(config_of(address)),
        arena(Stack::arena_bytes(config) / sizeof(Aligned) + 1),
        stack(config, std::as_writable_bytes(std::span(arena))) {}

  Config config;
  std::vector<Aligned> arena;
  Stack stack;
  bool open = false;
};

// One turn of a host with at most one frame in; returns the frame that it sends, or nothing.
std::span<const std::byte> step(Host& host, Instant now, std::span<const std::byte> frame,
                                std::span<std::byte> room) {
  lockstep::Ingress const arrived{frame, lockstep::Checksum::unknown, now};
  host.stack.receive(now, std::span(&arrived, frame.empty() ? 0 : 1));
  host.stack.expire(now);
  lockstep::Event event;
  while (host.stack.next_event(event)) {
    host.open = host.open || event.kind == lockstep::EventKind::accepted ||
                event.kind == lockstep::EventKind::connected;
  }
  host.stack.settle();
  return room.first(host.stack.transmit(now, room).length);
}

}  // namespace

int main() {
  auto const near_address = lockstep::IpAddress::v4(192, 0, 2, 1);
  auto const far_address = lockstep::IpAddress::v4(192, 0, 2, 2);
  Host client(near_address);
  Host server(far_address);
  lockstep::Local local;
  local.port = lockstep::Port{7};
  lockstep::ListenerId listener;
  lockstep::ConnectionId connection;
  if (server.stack.listen(local, {}, listener) != Refusal::none) return 1;
  lockstep::Open open;
  open.remote = {far_address, lockstep::Port{7}};
  if (client.stack.connect(open, connection) != Refusal::none) return 1;

  std::array<std::byte, 2048> out{};
  std::array<std::byte, 2048> back{};
  std::span<const std::byte> frame;
  Instant now;
  for (int round = 0; round < 4 && !(client.open && server.open); ++round) {
    frame = step(client, now, frame, out);
    frame = step(server, now, frame, back);
  }
  std::puts(client.open && server.open ? "connected" : "not connected");
  return client.open && server.open ? 0 : 1;
}
