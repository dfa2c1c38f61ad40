// The output of a link with a queue discipline, a shaper or a rate trace: packets wait here until
// the link can send them.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "core/units/random.hpp"
#include "sim/queues/codel.hpp"
#include "sim/queues/fq_codel.hpp"
#include "sim/queues/packet.hpp"
#include "sim/queues/pie.hpp"
#include "sim/queues/red.hpp"
#include "sim/queues/shaper.hpp"
#include "sim/queues/tail_drop.hpp"

namespace lockstep::sim {

// In the order of Discipline.
enum class DisciplineKind : std::uint8_t { tail_drop, red, codel, fq_codel, pie };

std::string_view name_of(DisciplineKind kind);
inline constexpr std::uint32_t discipline_count = 5;

// Without any of this, a lane computes departures when frames arrive and needs no output.
struct OutputSpec {
  DisciplineKind discipline = DisciplineKind::tail_drop;
  RedSpec red;
  CoDelSpec codel;
  FqCoDelSpec fq_codel;
  PieSpec pie;
  std::uint64_t shape_bits_per_second = 0;  // of a token bucket; 0: none
  std::uint64_t shape_burst_bytes = 15'140;
  std::vector<std::uint32_t> trace_ms;  // opportunities instead of a rate; empty: none
  bool plain() const {
    return discipline == DisciplineKind::tail_drop && shape_bits_per_second == 0 &&
           trace_ms.empty();
  }
  // Whether packets fare as the seed decides.
  bool draws() const {
    return discipline == DisciplineKind::red || discipline == DisciplineKind::pie ||
           discipline == DisciplineKind::fq_codel;
  }
};

// A plain value: a copy is a snapshot.
class OutputQueue {
 public:
  struct Line {
    BitRate rate;
    std::uint32_t overhead_bytes = 0;
    std::uint32_t link_header_bytes = 0;
    QueueLimits limits;
  };
  OutputQueue(const OutputSpec& spec, const Line& line, Random random);

  // Adds a packet. The packets lost by that are added to `lost`.
  void enqueue(Instant now, const Packet& packet, LostPackets& lost);

  // One step at `now`: either a packet is sent and leaves at `left`, or the next step is due at
  // `again`, or, if that is never, nothing waits. A packet that is sent makes `again` the end of
  // its transmission.
  struct Step {
    bool sends = false;
    Packet packet;
    Instant left{0};
    Instant again = Instant::never();
  };
  Step step(Instant now, LostPackets& lost);

  // Packets that wait, without the one in transmission.
  std::uint32_t waiting() const;
  // The next step that is scheduled; never: none is, so the next packet needs one.
  Instant due() const { return due_; }
  void set_due(Instant due) { due_ = due; }
  std::uint32_t flow_key() const { return flow_key_; }

 private:
  using Discipline = std::variant<TailDrop, Red, CoDel, FqCoDel, Pie>;

  Step send_by_trace(Instant now);

  Discipline discipline_;
  Line line_;
  std::optional<TokenBucket> bucket_;
  std::optional<RateTrace> trace_;
  std::optional<Packet> held_;   // taken from the discipline, waits for tokens or opportunities
  std::uint64_t held_left_ = 0;  // octets of it that no opportunity has sent
  RateTrace::Opportunity open_{Instant::never(),
                               0};  // the opportunity in use, with the octets it still has
  Instant due_ = Instant::never();
  std::uint32_t flow_key_ = 0;
};

}  // namespace lockstep::sim
