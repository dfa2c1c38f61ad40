// PIE: proportional integral controller enhanced, RFC 8033.
#pragma once

#include "core/units/random.hpp"
#include "sim/queues/packet.hpp"

namespace lockstep::sim {

struct PieSpec {
  Duration target = Duration::milliseconds(15);  // QDELAY_REF
  Duration update = Duration::milliseconds(15);  // T_UPDATE
  Duration burst = Duration::milliseconds(150);  // MAX_BURST
  Probability mark_up_to{100'000'000};           // MAX_ECNTH: above, packets are dropped
  std::uint32_t packet_bytes = 1'514;            // MEAN_PKTSIZE
  bool ecn = false;
};

// Drops or marks arriving packets with a probability that follows the delay of the queue, measured
// by time stamps: appendix A, with the marks of appendix B.
class Pie {
 public:
  Pie(const PieSpec& spec, QueueLimits limits, Random random);

  void enqueue(Instant now, Packet packet, LostPackets& lost);
  bool dequeue(Instant now, Packet& out, LostPackets& lost);
  std::uint32_t packets() const { return ring_.size(); }
  // The probability, with 48 fractional bits.
  std::uint64_t probability() const { return probability_; }
  static constexpr std::uint64_t certain = std::uint64_t{1} << 48;
  // Performs the updates that were due until now. enqueue() and dequeue() call it.
  void catch_up(Instant now);

 private:
  void update();
  bool drops_early();

  PieSpec spec_;
  QueueLimits limits_;
  Random random_;
  PacketRing ring_;
  Instant updated_{0};
  Duration delay_;  // of the last packet that left; 0 if the queue is empty
  Duration delay_old_;
  Duration burst_left_;
  std::uint64_t probability_ = 0;
};

}  // namespace lockstep::sim
