// A network NIC between a host's stack and its link, for whoever brings a driver into a world.
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

// The host's end of its link, as a NIC's MAC has it.
class NicLink {
 public:
  virtual ~NicLink() = default;
  virtual void send(std::span<const std::byte> frame) = 0;
  // Frames that have not wholly left, and when the first of them will have; never: none.
  virtual std::uint32_t waiting() = 0;
  virtual Instant first_departure() const = 0;
};

// What time it is, and where frames go: for one call.
struct NicMoment {
  Instant now;    // the world's
  Instant local;  // the host's
  NicLink& link;
};

// Frames that the NIC told of and then lost: on their way to the stack, and to the link.
struct NicLosses {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

// Some NIC in the middle of a run, to go back to.
class NicSnapshot {
 public:
  virtual ~NicSnapshot() = default;
};

// Whether a NIC had room for a frame, and which of its workers has it then.
struct NicTaking {
  bool taken = false;
  ShardId worker;
};

// In place of the plain port; of a host of several shards: of one of them, its worker. receive() to
// flush() are as Driver has them, between turn_begins() and turn_ends(); the frames that the turn
// committed have been sent when that returns.
class Nic {
 public:
  virtual ~Nic() = default;
  // A frame has come off the link; on its first worker only.
  virtual NicTaking arrive(const NicMoment& moment, std::span<const std::byte> frame) = 0;
  // Of the first worker of a link: another one, which lives no longer than this. To be asked once
  // for each.
  virtual std::unique_ptr<Nic> worker(ShardId shard) = 0;
  // Of the first worker: the first one on another of its links, which lives no longer than this. To
  // be asked once for each. nullptr: a NIC of one link.
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
  // Frames for which a turn is wanted.
  virtual std::uint32_t waiting() const = 0;
  // When a host that had no room to send may have some; the past: it has.
  virtual Instant room_at() const = 0;
  virtual NicLosses losses() const = 0;
  // Of the same NIC, or of that of the same host in a kernel of the same world and seed.
  virtual std::unique_ptr<NicSnapshot> snapshot() const = 0;
  virtual void restore(const NicSnapshot& snapshot) = 0;
};

using NicMaker = std::unique_ptr<Nic> (*)(const HostSpec&, Random);

// The Driver that turn() runs on where a host has a NIC. `full`: a fault holds the ring closed.
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
