// Sets up an mPIPE in the order that the hardware requires, and shuts it down in reverse.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hw/mpipe/kit.hpp"
#include "hw/mpipe/shape.hpp"

namespace lockstep::hw {

// The step that failed and the code that the call returned. `step` is a string literal or nullptr.
struct MpipeTrouble {
  const char* step = nullptr;
  int code = 0;
  constexpr bool none() const { return step == nullptr; }
};

// The links of one mPIPE and the resources of their workers. Receive stacks are shared by all
// links; rings, buckets and transmit stacks belong to one link each. Must not be moved, because the
// vendor's library keeps addresses of its members.
class Mpipe {
 public:
  static constexpr std::uint32_t classes_max = 3;
  static constexpr std::uint32_t buckets = 1'024;

  Mpipe() = default;
  ~Mpipe() { close(); }
  Mpipe(const Mpipe&) = delete;
  Mpipe& operator=(const Mpipe&) = delete;

  // Allocates all memory. On trouble everything is closed again.
  MpipeTrouble open(const MpipeShape& shape);
  // Closes at once. To send the last frames first, drain the ports (MpipePort::drained).
  void close();
  bool is_open() const { return open_; }
  // Commits an empty list of rules, so that no further frame is received.
  MpipeTrouble stop_receiving();

  const MpipeShape& shape() const { return shape_; }
  gxio_mpipe_context_t& context() { return context_; }
  gxio_mpipe_iqueue_t& iqueue(std::uint32_t worker, MpipeLink link = {}) {
    return iqueues_[link.value * shape_.workers.value + worker];
  }
  gxio_mpipe_equeue_t& equeue(std::uint32_t worker, MpipeLink link = {}) {
    return equeues_[edma_ring(worker, link)];
  }
  std::uint32_t transmit_stack(std::uint32_t worker, MpipeLink link = {}) const {
    return first_transmit_stack_ + edma_ring(worker, link);
  }
  // The buffer of a stack that contains the `bytes` octets from `first`; nullptr: there is none,
  // and the address that hardware wrote into the descriptor is not ours.
  unsigned char* buffer_around(std::uint32_t stack, unsigned char* first,
                               std::uint32_t bytes) const;
  std::uint32_t transmit_buffer_bytes() const { return transmit_bytes_; }
  std::uint32_t channel(MpipeLink link = {}) const { return channels_[link.value]; }
  std::uint32_t ring_of_bucket(std::uint32_t hash) const {
    return shape_.first_only ? 0 : (hash & (buckets - 1)) % shape_.workers.value;
  }
  std::uint32_t first_ring(MpipeLink link = {}) const {
    return first_ring_ + link.value * shape_.workers.value;
  }
  bool link_is_up(MpipeLink link = {});
  // The core of a worker; any_core without `dataplane`.
  static constexpr int any_core = -1;
  int core(std::uint32_t worker) const { return shape_.dataplane ? cores_[worker] : any_core; }

  // The octets that open() will allocate, pages included.
  static std::uint64_t memory_bytes(const MpipeShape& shape);

 private:
  // Rings, and for each stack its own memory and its buffers.
  static constexpr std::uint32_t mappings_max = MpipeShape::links_max * MpipeShape::workers_max +
                                                3 * MpipeShape::edma_rings_max + 2 * classes_max;
  struct Mapping {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  void* map(tmc_alloc_t& alloc, std::uint64_t bytes);
  void* contiguous(std::uint64_t bytes, int home);
  MpipeTrouble find_cores();
  // Memory used by one worker is cached on its core, shared memory on all cores.
  int home_of(std::uint32_t worker) const {
    return shape_.dataplane ? cores_[worker] : TMC_ALLOC_HOME_HASH;
  }
  // Workers share a ring and its stack if there are more workers than rings.
  std::uint32_t edma_ring(std::uint32_t worker, MpipeLink link) const {
    return link.value * shape_.edma_rings() + worker % shape_.edma_rings();
  }
  MpipeTrouble open_link(MpipeLink link);
  MpipeTrouble open_rings();
  MpipeTrouble open_buckets(MpipeLink link);
  MpipeTrouble open_edma();
  MpipeTrouble open_stacks();
  struct StackWanted {
    std::uint32_t index;
    std::uint32_t buffer_bytes;
    std::uint32_t count;
  };
  MpipeTrouble open_stack(const StackWanted& wanted);
  // The consecutive buffers of a stack.
  struct Buffers {
    unsigned char* first = nullptr;
    std::uint32_t each_bytes = 0;
    std::uint32_t count = 0;
  };
  MpipeTrouble open_rules();
  int add_rule(MpipeLink link, gxio_mpipe_rules_stacks_t& stacks);

  MpipeShape shape_;
  gxio_mpipe_context_t context_{};
  std::array<gxio_mpipe_link_t, MpipeShape::links_max> links_{};
  bool open_ = false;
  std::uint32_t linked_ = 0;  // number of open links
  std::array<std::uint32_t, MpipeShape::links_max> channels_{};
  std::array<std::uint32_t, MpipeShape::links_max> first_buckets_{};
  std::uint32_t first_ring_ = 0;
  std::uint32_t first_receive_stack_ = 0;
  std::uint32_t first_transmit_stack_ = 0;
  std::uint32_t transmit_bytes_ = 0;
  // Receive stacks first.
  std::array<Buffers, classes_max + MpipeShape::edma_rings_max> buffers_{};
  std::array<gxio_mpipe_iqueue_t, MpipeShape::links_max * MpipeShape::workers_max> iqueues_{};
  std::array<gxio_mpipe_equeue_t, MpipeShape::edma_rings_max> equeues_{};
  gxio_mpipe_rules_t rules_{};
  std::array<Mapping, mappings_max> mappings_{};
  std::uint32_t mapped_ = 0;
  std::array<int, MpipeShape::workers_max> cores_{};
};

}  // namespace lockstep::hw
