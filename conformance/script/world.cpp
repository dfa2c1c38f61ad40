// One stack with its sockets under a script, and its virtual clock.
#include "conformance/script/world.hpp"

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

std::span<const Ingress> World::Port::receive() {
  if (arrived.empty()) {
    return {};
  }
  lent = {arrived, Checksum::unknown, clock};
  return {&lent, 1};
}

void World::Port::commit(const Egress& egress) {
  auto const frame = std::span(room).first(egress.length);
  sent->push_back({clock, {frame.begin(), frame.end()}});
}

World::World(const Plan& plan, Arena& arena)
    : stack_(plan.config, arena.of(Stack::arena_bytes(plan.config))),
      sockets_(stack_, few_sockets()) {
  port_.room.resize(plan.config.mtu.count + 64);
  port_.sent = &sent;
  turn(stack_, port_, sockets_);  // sets its clock
}

bool World::settle() {
  for (std::uint32_t i = 0; i < turns_max; ++i) {
    bool const idle = turn(stack_, port_, sockets_) == Outcome::idle;
    if (idle && !stack_.wants_transmit()) {
      return true;
    }
  }
  return false;
}

Instant World::next() const { return earlier(stack_.deadline(), sockets_.deadline()); }

void World::inject(std::vector<std::byte> packet) {
  port_.arrived = std::move(packet);
  turn(stack_, port_, sockets_);
}

}  // namespace lockstep::conformance::script
