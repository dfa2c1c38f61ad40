// RED: random early detection, S. Floyd and V. Jacobson, 1993.
#pragma once

#include "core/units/random.hpp"
#include "sim/draws/fixed_point.hpp"
#include "sim/queues/packet.hpp"

namespace lockstep::sim {

struct RedSpec {
  std::uint32_t min_packets = 5;  // the thresholds of the average
  std::uint32_t max_packets = 15;
  Probability most{20'000'000};   // max_p: the probability just below max_packets
  Probability weight{2'000'000};  // w_q, of the newest length in the average
  bool gentle = false;            // from max_p to 1 between max_packets and twice that
  bool ecn = false;               // mark instead of dropping early
  Duration packet_time = Duration::milliseconds(1);  // s: to send a small packet while idle
};

// Keeps a moving average of the queue's length. Above the first threshold it drops or marks with a
// probability that grows with the average and with the packets since the last one.
class Red {
 public:
  Red(const RedSpec& spec, QueueLimits limits, Random random);

  void enqueue(Instant now, Packet packet, LostPackets& lost);
  bool dequeue(Instant now, Packet& out, LostPackets& lost);
  std::uint32_t packets() const { return ring_.size(); }
  // The average length in packets.
  Fixed32 average() const { return average_; }

 private:
  enum class Judgement : std::uint8_t { keep, early, forced };
  Judgement judge();
  void update_average(Instant now);
  std::uint64_t base_probability() const;

  RedSpec spec_;
  QueueLimits limits_;
  Random random_;
  PacketRing ring_;
  Fixed32 average_;
  Fixed32 decay_;            // -log2(1 - w_q)
  Instant idle_since_{0};    // while the queue is empty
  std::int64_t since_ = -1;  // packets since the last one dropped or marked
};

}  // namespace lockstep::sim
