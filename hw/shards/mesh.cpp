// Rings for each pair of shards, and doorbells made with eventfd(2).
#include "hw/shards/mesh.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lockstep::hw {

void Seat::rise() {
  if (resting_.load(std::memory_order_relaxed)) {
    resting_.store(false, std::memory_order_relaxed);
    std::uint64_t rings = 0;
    // usually there is nothing to read
    static_cast<void>(!read(bell_.number(), &rings, sizeof rings));
  }
}

Mesh::Mesh(ShardCount shards, Bytes frame_max) : shards_(shards) {
  for (std::uint32_t i = 0; i < shards.value; ++i) {
    seats_.push_back(std::make_unique<Seat>(shards));
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

void Mesh::quiesce(ShardId self) {
  // If several shards end at once, the one whose store is last in this order sees the stores of
  // all.
  seats_[self.value]->departed_.store(true, std::memory_order_seq_cst);
  if (!all_departed()) {
    return;
  }
  for (std::uint32_t i = 0; i < shards_.value; ++i) {
    ring_bell(self, {i});
  }
}

bool Mesh::all_departed() const {
  return std::all_of(seats_.begin(), seats_.end(), [](const auto& seat) {
    return seat->departed_.load(std::memory_order_seq_cst);
  });
}

void Mesh::ring_bell(ShardId from, ShardId to) {
  // Either the other shard sees the frame when it checks once more before sleeping, or this shard
  // sees that it rests: each writes before it reads, and all these accesses are sequentially
  // consistent.
  Seat& seat = *seats_[to.value];
  std::atomic<std::uint32_t>& puts = seat.puts_[from.value].count;
  puts.store(puts.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (seat.resting_.load(std::memory_order_seq_cst)) {
    std::uint64_t const one = 1;
    // if the counter is full, the doorbell rings already
    static_cast<void>(!write(seat.bell_.number(), &one, sizeof one));
  }
}

}  // namespace lockstep::hw
