// A simulated NIC between a host's stack and its link, for tools that bring a driver into a world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/stack/driver.hpp"
#include "core/units/random.hpp"
#include "core/units/shard.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// The host's end of its link, as the MAC of a NIC uses it.
class NicLink {
 public:
  virtual ~NicLink() = default;
  virtual void send(std::span<const std::byte> frame) = 0;
  // Frames in the queue of the link, and when the first of them finishes transmission (never:
  // none).
  virtual std::uint32_t waiting() = 0;
  virtual Instant first_departure() const = 0;
};

// The time, and the link to send on; valid for one call.
struct NicMoment {
  Instant now;    // world time
  Instant local;  // host time
  NicLink& link;
};

// Frames that the NIC accepted and then lost: on the way to the stack, and to the link.
struct NicLosses {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

// The state of a NIC between two steps.
class NicSnapshot {
 public:
  virtual ~NicSnapshot() = default;
};

// Whether a NIC had room for a frame, and which of its workers received it.
struct NicTaking {
  bool taken = false;
  ShardId worker;
};

// Takes the place of the plain port; on a host with several shards each has one worker of the NIC.
// receive() to flush() are those of Driver and are called between turn_begins() and turn_ends();
// turn_ends() returns after the frames committed in the turn have been sent.
class Nic {
 public:
  virtual ~Nic() = default;
  // A frame has arrived from the link; called on the first worker only.
  virtual NicTaking arrive(const NicMoment& moment, std::span<const std::byte> frame) = 0;
  // On the first worker of a link: creates another worker, which must not outlive this one. Call
  // once per shard.
  virtual std::unique_ptr<Nic> worker(ShardId shard) = 0;
  // On the first worker: creates the first worker of another of the NIC's links, which must not
  // outlive this one. Call once per link. nullptr: the NIC has one link.
  virtual std::unique_ptr<Nic> link(std::uint32_t number) {
    static_cast<void>(number);
    return nullptr;
  }
  virtual void turn_begins(const NicMoment& moment) = 0;
  virtual void turn_ends(const NicMoment& moment) = 0;
  virtual Instant now() = 0;
  virtual std::span<const Ingress> receive() = 0;
  virtual void reclaim() = 0;
  virtual std::span<std::byte> claim() = 0;
  virtual void commit(const Egress& egress) = 0;
  virtual void flush() = 0;
  // Frames that require a turn.
  virtual std::uint32_t waiting() const = 0;
  // When a host that had no room to send may have room; an instant in the past: it has room now.
  virtual Instant room_at() const = 0;
  virtual NicLosses losses() const = 0;
  // restore() takes a snapshot of the same NIC, or of the same host's NIC in a kernel of the same
  // world and seed.
  virtual std::unique_ptr<NicSnapshot> snapshot() const = 0;
  virtual void restore(const NicSnapshot& snapshot) = 0;
};

using NicMaker = std::unique_ptr<Nic> (*)(const HostSpec&, Random);

// The Driver that turn() uses where a host has a NIC. `full`: a fault keeps the transmit ring full.
class NicPort {
 public:
  NicPort(Nic& nic, bool full) : nic_(nic), full_(full) {}
  Instant now() { return nic_.now(); }
  std::span<const Ingress> receive() { return nic_.receive(); }
  std::span<std::byte> claim() { return full_ ? std::span<std::byte>{} : nic_.claim(); }
  void commit(const Egress& egress) { nic_.commit(egress); }
  void reclaim() { nic_.reclaim(); }
  void flush() { nic_.flush(); }

 private:
  Nic& nic_;
  bool full_;
};

static_assert(Driver<NicPort>);

}  // namespace lockstep::sim
