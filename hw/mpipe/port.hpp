// The driver of one worker on a link of an mPIPE: a receive ring, a send ring, and buffers returned
// by hardware.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/stack/driver.hpp"
#include "hw/mpipe/setup.hpp"

namespace lockstep::hw {

// Counters of a worker's port; the stack counts the rest.
struct MpipeCounters {
  std::uint64_t frames_in = 0;
  std::uint64_t frames_out = 0;
  std::uint64_t damaged = 0;    // lost: overrun, truncated or with a bad CRC
  std::uint64_t cut_short = 0;  // lost: buffers ran out in the middle of a frame
  std::uint64_t chained = 0;    // lost: longer than a buffer; all its buffers were returned
  std::uint64_t malformed = 0;  // ignored: impossible addresses, lengths and stacks
  std::uint64_t sums_good = 0;  // verified as correct by the classifier
  std::uint64_t sums_bad = 0;
  std::uint64_t sums_left = 0;  // of frames to send, inserted by the engine
  std::uint64_t sums_here = 0;  // ... inserted by the worker, because the frame was too long
  std::uint64_t batches = 0;    // each posted after one fence
  std::uint64_t no_buffer = 0;  // claims without a free buffer: the frame waits in the stack
  std::uint64_t no_credit = 0;  // batches that found the ring full and wait
};

// A Driver. Committed frames leave at flush(), or when the batch is full. Nothing blocks: if the
// hardware has no room, claim() returns nothing and the stack keeps its segment. Nothing is
// allocated.
class MpipePort {
 public:
  static constexpr std::uint32_t burst_max = 256;
  static constexpr std::uint32_t batch_max = 32;

  struct Worker {
    std::uint32_t value = 0;
  };
  // `engine` must be open and outlive the port. CHECKs that the worker and the link exist.
  MpipePort(Mpipe& engine, Worker worker, MpipeLink link = {});
  MpipePort(const MpipePort&) = delete;
  MpipePort& operator=(const MpipePort&) = delete;

  // By the core's cycle counter.
  Instant now();
  std::span<const Ingress> receive();
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim();

  // Posts what was committed; false: the ring has no room, and it waits.
  bool flush();
  // Call until it returns true, once nothing is received any more: discards what was received,
  // checks that what was posted has left, and returns the claimed buffer. Never waits.
  bool drained();

  // The state that changes while running, for going back to a time between two turns with nothing
  // waiting to be posted. `memory`: the claimed buffer is stored relative to it.
  struct State {
    std::uint32_t head = 0;
    std::uint64_t credits_and_next_index = 0;
    std::uint64_t hw_complete_count = 0;
    std::int64_t claimed = -1;
    std::int64_t last_slot = -1;
    Instant now;
    MpipeCounters counters;
  };
  State state(const std::byte* memory) const;
  void set_state(const State& state, std::byte* memory);

  // For the loop: there is no descriptor to sleep on, so it turns without sleeping.
  int descriptor() const { return -1; }
  bool holds() const { return unposted_ != 0; }
  bool more() const;
  bool down() const { return false; }
  bool gone() const { return false; }
  const MpipeCounters& counters() const { return counters_; }

 private:
  struct Lent {
    unsigned char* buffer = nullptr;
    std::uint8_t stack = 0;
  };
  struct Committed {
    unsigned char* buffer = nullptr;
    Egress egress;
  };

  std::uint32_t room_to_ring_end() const;
  void take(gxio_mpipe_idesc_t& idesc);
  void hand_out(gxio_mpipe_idesc_t& idesc);
  // Returns the buffers of a descriptor; whether all were ours.
  bool give_back(const gxio_mpipe_idesc_t& idesc);
  void put_header(unsigned char* frame, bool six) const;
  gxio_mpipe_edesc_t describe(const Committed& frame);

  Mpipe& engine_;
  gxio_mpipe_iqueue_t& iqueue_;
  gxio_mpipe_equeue_t& equeue_;
  std::uint32_t transmit_stack_;
  std::uint32_t burst_frames_;
  std::uint32_t batch_;
  std::uint32_t header_bytes_;  // that the port adds for a stack of bare IP
  std::uint64_t cycles_a_second_;
  Instant now_;
  std::uint32_t taken_ = 0;       // frames of this burst
  std::uint32_t uncredited_ = 0;  // descriptors read and not yet credited
  unsigned char* claimed_ = nullptr;
  std::uint32_t unposted_ = 0;
  std::int64_t last_slot_ = -1;  // of the null descriptor that ends the ring's use
  MpipeCounters counters_;
  std::array<Lent, burst_max> lent_{};
  std::array<Ingress, burst_max> burst_{};
  std::array<Committed, batch_max> committed_{};
};

static_assert(Driver<MpipePort>);

}  // namespace lockstep::hw
