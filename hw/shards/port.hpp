// The driver of one shard around the driver of one queue: forwards frames of other shards.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "core/stack/driver.hpp"
#include "core/stack/shard.hpp"
#include "core/units/check.hpp"
#include "hw/link_mtu.hpp"
#include "hw/port_counters.hpp"
#include "hw/shards/mesh.hpp"

namespace lockstep::hw {

struct ShardCounters {
  std::uint64_t forwarded = 0;  // received frames that were sent to another shard
  std::uint64_t announced = 0;  // copies sent to other shards of frames for all shards
  std::uint64_t given = 0;      // frames received from other shards
  std::uint64_t lost = 0;       // frames for another shard whose ring was full
};

// A Driver. Half of a burst may come from the port, half from the rings of the other shards.
template <class Port>
class ShardPort {
 public:
  static constexpr std::uint32_t burst_max = 256;

  // `port` must return at most half of `burst_frames`, which is at least 2 (CHECK), at a time.
  ShardPort(Port& port, Mesh& mesh, ShardId self, Count burst_frames)
      : port_(port), mesh_(mesh), self_(self), burst_frames_(burst_frames.value) {
    CHECK(burst_frames_ >= 2);
    CHECK(burst_frames_ <= burst_max);
  }

  Instant now() {
    now_ = port_.now();
    return now_;
  }

  std::span<const Ingress> receive() {
    mesh_.seat(self_).rise();
    count_ = 0;
    for (const Ingress& frame : port_.receive()) {
      sort(frame);
    }
    take_given();
    return std::span(burst_).first(count_);
  }

  std::span<std::byte> claim() { return port_.claim(); }
  void commit(const Egress& egress) { port_.commit(egress); }
  void flush() { port_.flush(); }
  void reclaim() {
    port_.reclaim();
    if (!lends_) {
      return;
    }
    lends_ = false;
    for (std::uint32_t from = 0; from < mesh_.shards().value; ++from) {
      if (lent_[from] != 0) {
        mesh_.ring({from}, self_).pop(lent_[from]);
        lent_[from] = 0;
      }
    }
  }

  int descriptor() const { return port_.descriptor(); }
  bool holds() const { return port_.holds(); }
  bool more() const { return port_.more() || given_waits(); }
  bool down() const { return port_.down(); }
  bool gone() const { return port_.gone(); }
  Bytes link_mtu()
    requires LinkedDriver<Port>
  {
    return port_.link_mtu();
  }

  // For a loop that is about to sleep: whether it may sleep until doorbell() is readable.
  int doorbell() const { return mesh_.seat(self_).descriptor(); }
  bool prepare_sleep() {
    mesh_.seat(self_).prepare_sleep();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (given_waits()) {
      mesh_.seat(self_).rise();
      return false;
    }
    return true;
  }

  // Frames that arrive here are still forwarded as long as any shard has something to send.
  bool quiesce() {
    if (!departed_) {
      departed_ = true;
      mesh_.quiesce(self_);
    }
    return mesh_.all_departed();
  }

  const ShardCounters& counters() const { return counters_; }

 private:
  void sort(const Ingress& frame) {
    ShardId const home = home_of(LinkType::ethernet, frame.bytes, mesh_.shards());
    if (home == self_) {
      burst_[count_++] = frame;
    } else if (home == ShardId::everyone()) {
      burst_[count_++] = frame;
      for (std::uint32_t to = 0; to < mesh_.shards().value; ++to) {
        if (to != self_.value) {
          counters_.announced += send(frame, {to}) ? 1 : 0;
        }
      }
    } else {
      counters_.forwarded += send(frame, home) ? 1 : 0;
    }
  }

  bool send(const Ingress& frame, ShardId to) {
    bool const put = mesh_.ring(self_, to).put(frame.bytes, frame.checksum);
    counters_.lost += put ? 0 : 1;
    if (put) {
      mesh_.ring_bell(self_, to);
    }
    return put;
  }

  // Serves the rings in turn, starting where the last call ended, so that no shard starves.
  void take_given() {
    std::uint32_t const puts = mesh_.seat(self_).puts();
    if (puts == seen_) {
      return;
    }
    std::uint32_t const shards = mesh_.shards().value;
    for (std::uint32_t i = 0; i < shards && count_ < burst_frames_; ++i) {
      std::uint32_t const from = (first_ + i) % shards;
      if (from == self_.value) {
        continue;
      }
      FrameRing& ring = mesh_.ring({from}, self_);
      std::uint32_t const waiting = ring.waiting();
      while (lent_[from] < waiting && count_ < burst_frames_) {
        FrameRing::Entry const entry = ring.at(lent_[from]++);
        burst_[count_++] = {entry.bytes, entry.checksum, now_};
        ++counters_.given;
        lends_ = true;
      }
    }
    first_ = (first_ + 1) % shards;
    if (count_ < burst_frames_) {
      seen_ = puts;  // excludes frames put while the rings were read
    }
  }

  bool given_waits() const { return mesh_.seat(self_).puts() != seen_; }

  Port& port_;
  Mesh& mesh_;
  ShardId self_;
  std::uint32_t burst_frames_;
  std::uint32_t count_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t seen_ = 0;  // the value of puts() up to which all frames were taken
  bool lends_ = false;
  bool departed_ = false;
  Instant now_;
  ShardCounters counters_;
  // frames lent from each ring, until reclaim()
  std::array<std::uint32_t, ShardCount::most> lent_{};
  std::array<Ingress, burst_max> burst_{};
};

}  // namespace lockstep::hw
