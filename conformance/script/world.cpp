// What runs under a script, and its virtual clock.
#include "conformance/script/world.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>

#include "conformance/script/device_world.hpp"
#include "conformance/script/linux_world.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr std::uint32_t turns_max = 100'000;

tools::SocketSettings few_sockets() {
  tools::SocketSettings out;
  out.descriptors.most = Count{64};
  out.epolls_max = Count{4};
  out.items_max = Count{64};
  return out;
}

}  // namespace

std::span<std::byte> Arena::of(std::uint64_t bytes) {
  constexpr std::uint64_t alignment = 64;
  if (memory_.size() < bytes + alignment) {
    memory_.resize(bytes + alignment);
  }
  auto const at = reinterpret_cast<std::uintptr_t>(memory_.data());
  std::size_t const skip = (alignment - at % alignment) % alignment;
  return std::span(memory_).subspan(skip, bytes);
}

std::span<const Ingress> StackWorld::Port::receive() {
  if (arrived.empty()) {
    return {};
  }
  lent = {arrived, Checksum::unknown, clock};
  return {&lent, 1};
}

void StackWorld::Port::commit(const Egress& egress) {
  auto const frame = std::span(room).first(egress.length);
  sent->push_back({clock, {frame.begin(), frame.end()}});
}

StackWorld::StackWorld(const Plan& plan, Arena& arena)
    : stack_(plan.config, arena.of(Stack::arena_bytes(plan.config))),
      sockets_(stack_, few_sockets()),
      calls_(sockets_.c()) {
  port_.room.resize(plan.config.mtu.count + 64);
  port_.sent = &sent;
  turn(stack_, port_, sockets_);  // sets its clock
}

bool StackWorld::settle() {
  for (std::uint32_t i = 0; i < turns_max; ++i) {
    bool const idle = turn(stack_, port_, sockets_) == Outcome::idle;
    if (idle && !stack_.wants_transmit()) {
      return true;
    }
  }
  return false;
}

bool StackWorld::advance(Instant until) {
  Instant const due = later(next(), now());
  if (due > until) {
    return false;
  }
  go_to(due);
  return true;
}

void StackWorld::inject(std::vector<std::byte> packet) {
  port_.arrived = std::move(packet);
  turn(stack_, port_, sockets_);
}

void StackWorld::reconfigure(const Config& config) {
  stack_.reconfigure(config);
  port_.room.resize(std::max<std::size_t>(port_.room.size(), config.mtu.count + 64));
}

std::optional<tcp::State> StackWorld::state_of(const Endpoint& local, const Endpoint& remote) {
  return stack_.state_of({local, remote});
}

std::optional<lockstep_tcp_info> StackWorld::info_of(int fd) {
  lockstep_tcp_info info{};
  socklen_t length = sizeof info;
  bool const known = fd >= 0 && calls_.getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
  return known ? std::optional(info) : std::nullopt;
}

std::unique_ptr<World> world_of(const Plan& plan, const Overrides& overrides, Arena& arena) {
  if (overrides.device.empty()) {
    return std::make_unique<StackWorld>(plan, arena);
  }
  if (plan.original) {
    return std::make_unique<LinuxWorld>(plan, overrides.device.string());
  }
  return std::make_unique<DeviceWorld>(plan, overrides.device);
}

}  // namespace lockstep::conformance::script
