// The model of one mPIPE: its registers, rings and stacks, stepped by the owner of the clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/random.hpp"
#include "core/units/time.hpp"
#include "hw/mpipe/model/classifier.hpp"
#include "hw/mpipe/model/gxio/mpipe.h"
#include "hw/mpipe/model/memory.hpp"

namespace lockstep::hw::mpipe {

// Misuse by software to which the hardware would react with corruption or not at all.
enum class Sin : std::uint8_t {
  double_push,        // pushed a buffer that is already in a stack
  push_not_held,      // pushed a buffer that is in a ring, or being sent
  unregistered_push,  // pushed a buffer not completely within a page of that stack
  stack_overflow,     // pushed into a full stack
  unregistered_send,  // a descriptor names memory outside the pages of its stack
  send_not_held,      // hwb for a buffer that software does not own
  stale_send,         // sent octets that no fence had made visible to the engine
  slot_overwritten,   // put a descriptor into a slot that is still in use
  sum_too_long,       // requested a checksum beyond the octets stored before forwarding
  credit_too_many,    // returned more credits than were delivered
  spun,               // called a function that spins until hardware moves
  not_locked,         // entered the dataplane with memory that may be paged out
  system_call,        // made a system call in a thread of the dataplane
};
inline constexpr std::uint32_t sin_count = 13;

// Errors of the NIC, for each frame or call, drawn from the seed. Nothing is drawn if none are set.
struct Errors {
  Probability no_buffer;     // no buffer for a frame
  Probability ring_full;     // no room in the frame's ring
  Probability truncated;     // a part of the frame is lost: tr
  Probability bad_sum;       // the MAC's CRC fails: ce
  Probability mispredicted;  // the frame goes to another ring than its hash names
  Probability not_ready;     // a pop finds the stack busy
  Probability late;          // the completion of a packet is reported late
  Duration not_ready_for = Duration::microseconds(2);
  Duration late_by = Duration::microseconds(50);
  Duration completion;  // of every packet, from its departure to its completion
  bool any() const;
};

// The other end of a link's MAC.
class Wire {
 public:
  virtual ~Wire() = default;
  // Sends a frame. `frame` is valid only during the call.
  virtual void leave(std::span<const std::byte> frame) = 0;
  // The number of frames that have not left completely, and when the first of them will have;
  // never: none.
  virtual std::uint32_t waiting() = 0;
  virtual Instant first_departure() const = 0;
};

// The outcome of a frame from the wire.
enum class Arrived : std::uint8_t { taken, filtered, ring_full, no_buffer, lost };

struct MachineShape {
  std::uint32_t memory_bytes = 16u << 20;
  Random random;
  Errors errors;
  Mac mac;
  FlowHash hash = FlowHash::nic;
  std::uint32_t workers = 1;                // for FlowHash::ours
  std::uint64_t dataplane = 0xf'ffff'fffe;  // one bit for each core: 1 to 35 of 36
};

class Machine {
 public:
  static constexpr std::uint32_t stacks = 32;
  static constexpr std::uint32_t rings = 256;
  static constexpr std::uint32_t groups = 32;
  static constexpr std::uint32_t buckets = 4'160;
  static constexpr std::uint32_t edma_rings = 24;
  static constexpr std::uint32_t links = 12;  // gbe0-3, xgbe0-3, loop0-3
  static constexpr std::uint32_t loop_first = 8;
  static constexpr std::uint32_t pages_a_stack = 16;
  static constexpr std::uint32_t packet_max = 16'383;
  static constexpr std::uint32_t frame_max = 1'544;
  static constexpr std::uint32_t jumbo_frame_max = 10'240;

  explicit Machine(const MachineShape& shape);

  // Copies the state of `other`, a machine of the same shape and setup.
  void copy_from(const Machine& other);

  // The machine used by calls without a context. A process simulates in one thread.
  static Machine& current();
  void be_current();

  // The world's time, and the NIC's clock at that time. Setting it completes what is due.
  struct Times {
    Instant now;
    Instant local;
  };
  void step(const Times& times);
  // When step() would next change something that software waits for; never: nothing.
  Instant deadline() const;
  // The same for one link.
  Instant deadline(std::uint32_t channel) const;
  Instant local() const { return times_.local; }

  // Attaches a wire to every link, or to that of one channel.
  void attach(Wire& wire) { wires_.fill(&wire); }
  void attach(Wire& wire, std::uint32_t channel) { wires_[channel] = &wire; }
  void set_link_up(bool up) { link_up_.fill(up); }
  void set_link_up(bool up, std::uint32_t channel) { link_up_[channel] = up; }
  bool link_up(std::uint32_t channel) const { return link_up_[channel]; }
  // Enables or disables the errors.
  void set_erring(bool erring) { erring_ = erring && errors_.any(); }
  // Frames to send that were discarded because the link was down.
  std::uint64_t discarded() const { return discarded_; }
  Arrived arrive(std::span<const std::byte> frame, std::uint32_t channel);
  // The ring of the last frame accepted.
  std::uint32_t last_ring() const { return last_ring_; }
  // Descriptors delivered in a ring that software has not advanced over.
  std::uint32_t delivered(std::uint32_t ring) const;

  std::uint64_t sins(Sin sin) const { return sins_[static_cast<std::uint32_t>(sin)]; }
  std::uint64_t sins() const;
  const Memory& memory() const { return memory_; }
  Memory& memory() { return memory_; }
  std::uint64_t buffers() const;  // that were ever pushed
  const gxio_mpipe_stats_t& stats() const { return stats_; }
  HashSeed hash_seed() const { return hash_seed_; }

  // Used by the implementation of the calls in gxio*.cpp.
  struct BufferStack {
    bool allocated = false;
    bool ready = false;
    int size = 0;
    std::uint32_t bytes = 0;
    std::uint32_t capacity = 0;
    std::vector<Offset> free;
    std::vector<Memory::Extent> pages;
  };
  struct NotifRing {
    bool allocated = false;
    bool ready = false;
    std::uint32_t entries = 0;
    Offset at;
    std::uint32_t tail = 1;
    std::uint32_t head = 1;   // as far as software has advanced
    std::uint32_t count = 0;  // delivered and not credited
  };
  struct NotifGroup {
    bool allocated = false;
    gxio_mpipe_notif_group_bits_t bits{};
  };
  struct Bucket {
    bool allocated = false;
    bool ready = false;
    std::uint8_t ring = 0;
    std::uint8_t group = 0;
    std::uint8_t mode = 0;
    std::uint32_t count = 0;
  };
  struct EdmaRing {
    bool allocated = false;
    bool ready = false;
    std::uint32_t entries = 0;
    std::uint32_t log2 = 0;
    Offset at;
    std::uint8_t channel = 0;
    std::uint32_t store_bytes = 1'536;  // stored before forwarding begins
    std::uint64_t next = 0;             // descriptors fetched
    std::uint64_t put = 0;              // one more than the furthest slot put
    std::uint64_t completed = 0;
  };
  struct Link {
    bool open = false;
    bool jumbo = false;
  };

  void sin(Sin what) { ++sins_[static_cast<std::uint32_t>(what)]; }
  void push(std::uint32_t stack, Offset base);
  gxio_mpipe_bdesc_t pop(std::uint32_t stack);
  void advance(std::uint32_t ring, std::uint32_t count);
  void credit(int ring, int bucket, std::uint32_t count);
  void fetch(std::uint32_t ring);
  void complete();
  // Packets in flight are dropped, because their owner is gone.
  void abandon() { departures_ = {}; }
  bool registered(std::uint32_t stack, Offset begin, std::uint32_t bytes) const;

  std::array<BufferStack, stacks> stack_table;
  std::array<NotifRing, rings> ring_table;
  std::array<NotifGroup, groups> group_table;
  std::vector<Bucket> bucket_table;
  std::array<EdmaRing, edma_rings> edma_table;
  std::array<Link, links> link_table;
  std::vector<gxio_mpipe_model_rule_t> rules;
  bool initialised = false;
  Mac mac;
  std::uint64_t dataplane;
  // The calling thread; a test that simulates several replaces it.
  struct Thread {
    int core = -1;  // the core to which it is bound
    int flags = 0;  // of the dataplane
  };
  Thread thread;
  bool memory_locked = false;

 private:
  struct Flight {
    std::uint8_t ring = 0;
    std::uint8_t stack = 0;
    bool returns = false;  // hwb: the buffer returns to its stack
    bool departs = false;  // the last piece of a packet that the wire has accepted
    Offset buffer;
    Instant at;
  };
  // Packets being sent on one link, in order.
  struct Departures {
    std::vector<Flight> flights;  // those before `first` are complete
    std::uint32_t first = 0;
    std::uint32_t departing = 0;
  };
  void complete(std::uint32_t channel);
  void put_in_stack(std::uint32_t stack, Offset base);
  bool chance(Probability probability);
  const gxio_mpipe_model_rule_t* rule_for(const Classified& seen, std::span<const std::byte> frame,
                                          std::uint32_t channel) const;
  std::uint32_t stack_for(const gxio_mpipe_model_rule_t& rule, std::uint32_t bytes) const;
  std::uint32_t ring_for(Bucket& bucket);
  std::uint32_t least_full(const NotifGroup& group) const;
  bool full(std::uint32_t ring) const;
  bool write_packet(std::span<const std::byte> data, std::uint32_t stack, std::uint32_t headroom,
                    gxio_mpipe_idesc_t& idesc);
  void deliver(std::uint32_t ring, const gxio_mpipe_idesc_t& idesc);
  bool take_packet(std::uint32_t ring);
  bool gather(std::uint32_t count);
  void insert_sum(const gxio_mpipe_edesc_t& first, const EdmaRing& ring);
  void put_under_way(std::uint32_t ring, std::uint32_t count, bool departs);

  Memory memory_;
  Errors errors_;
  bool erring_;
  Random random_;
  HashSeed hash_seed_;
  std::array<Wire*, links> wires_{};
  std::array<bool, links> link_up_;
  Times times_;
  Instant not_ready_until_;
  std::uint64_t packets_ = 0;
  std::uint32_t last_ring_ = 0;
  std::uint64_t discarded_ = 0;
  std::array<Departures, links> departures_;
  std::vector<std::byte> packet_;
  std::vector<gxio_mpipe_edesc_t> pieces_;
  std::array<std::uint64_t, sin_count> sins_{};
  gxio_mpipe_stats_t stats_{};
};

// Where a popped buffer begins.
unsigned char* buffer_of(Machine& machine, gxio_mpipe_bdesc_t bdesc);

}  // namespace lockstep::hw::mpipe
