// Rings in pairs, bells of eventfd(2).
#include "hw/shards/mesh.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep::hw {

void Seat::rise() {
  if (resting_.load(std::memory_order_relaxed)) {
    resting_.store(false, std::memory_order_relaxed);
    std::uint64_t rings = 0;
    static_cast<void>(!read(bell_.number(), &rings, sizeof rings));  // none, mostly
  }
}

Mesh::Mesh(ShardCount shards, Bytes frame_max) : shards_(shards) {
  for (std::uint32_t i = 0; i < shards.value; ++i) {
    seats_.push_back(std::make_unique<Seat>());
    for (std::uint32_t k = 0; k < shards.value; ++k) {
      rings_.push_back(i == k ? nullptr : std::make_unique<FrameRing>(ring_frames, frame_max));
    }
  }
}

Trouble Mesh::open() {
  for (auto& seat : seats_) {
    seat->bell_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!seat->bell_.is_open()) {
      return {TroubleKind::environment,
              std::string("eventfd: ") + std::strerror(errno) + ": raise the limit of open files"};
    }
  }
  return {};
}

void Mesh::depart() {
  if (departed_.fetch_add(1, std::memory_order_acq_rel) + 1 != shards_.value) {
    return;
  }
  for (std::uint32_t i = 0; i < shards_.value; ++i) {
    ring_bell({i});
  }
}

void Mesh::ring_bell(ShardId shard) {
  // Either the shard sees the frame when it looks once more, or it is seen here to rest: each
  // writes before it reads, in one order of all (the put is counted before this fence).
  Seat& seat = *seats_[shard.value];
  seat.puts_.fetch_add(1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (seat.resting_.load(std::memory_order_seq_cst)) {
    std::uint64_t const one = 1;
    static_cast<void>(!write(seat.bell_.number(), &one, sizeof one));  // full: it rings already
  }
}

}  // namespace lockstep::hw
