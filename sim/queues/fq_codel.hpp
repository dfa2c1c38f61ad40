// FQ-CoDel: fair queueing with a CoDel for each flow, RFC 8290.
#pragma once

#include "sim/queues/codel.hpp"

namespace lockstep::sim {

struct FqCoDelSpec {
  CoDelSpec codel{Duration::milliseconds(5), Duration::milliseconds(100), 1'514, true};
  std::uint32_t flows = 1'024;
  std::uint32_t quantum_bytes = 1'514;
  std::uint32_t limit_packets = 10'240;
};

// Each packet goes to the queue of its flow's hash. Queues that have just become active are served
// before the others; each may send a quantum of octets in turn.
class FqCoDel {
 public:
  explicit FqCoDel(const FqCoDelSpec& spec);

  void enqueue(Instant now, Packet packet, LostPackets& lost);
  bool dequeue(Instant now, Packet& out, LostPackets& lost);
  std::uint32_t packets() const { return packets_; }

 private:
  enum class Place : std::uint8_t { idle, fresh, old };
  struct Flow {
    PacketRing ring;
    CoDelControl control;
    std::int64_t credit = 0;
    Place place = Place::idle;
  };
  // Positions of flows, first in, first out.
  class List {
   public:
    bool empty() const { return from_ == all_.size(); }
    std::uint32_t first() const { return all_[from_]; }
    void push(std::uint32_t flow) { all_.push_back(flow); }
    void pop();

   private:
    std::vector<std::uint32_t> all_;
    std::uint32_t from_ = 0;
  };

  void drop_from_fattest(LostPackets& lost);

  FqCoDelSpec spec_;
  std::vector<Flow> flows_;
  List fresh_;
  List old_;
  std::uint32_t packets_ = 0;
};

}  // namespace lockstep::sim
