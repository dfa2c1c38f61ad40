// Sends packets at the rate of a link, of its shaper or of its trace.
#include "sim/queues/output.hpp"

#include <array>

namespace lockstep::sim {
namespace {

std::variant<TailDrop, Red, CoDel, FqCoDel, Pie> discipline_of(const OutputSpec& spec,
                                                               QueueLimits limits, Random random) {
  switch (spec.discipline) {
    case DisciplineKind::tail_drop:
      break;
    case DisciplineKind::red:
      return Red(spec.red, limits, random);
    case DisciplineKind::codel:
      return CoDel(spec.codel, limits);
    case DisciplineKind::fq_codel:
      return FqCoDel(spec.fq_codel);
    case DisciplineKind::pie:
      return Pie(spec.pie, limits, random);
  }
  return TailDrop(limits);
}

}  // namespace

std::string_view name_of(DisciplineKind kind) {
  constexpr std::array<std::string_view, discipline_count> names{"tail_drop", "red", "codel",
                                                                 "fq_codel", "pie"};
  return names[static_cast<std::uint32_t>(kind)];
}

OutputQueue::OutputQueue(const OutputSpec& spec, const Line& line, Random random)
    : discipline_(discipline_of(spec, line.limits, random.fork("drops"))),
      line_(line),
      flow_key_(static_cast<std::uint32_t>(random.fork("flows").next())) {
  if (spec.shape_bits_per_second != 0) {
    bucket_ = TokenBucket({spec.shape_bits_per_second}, spec.shape_burst_bytes);
  }
  if (!spec.trace_ms.empty()) {
    trace_ = RateTrace(spec.trace_ms);
  }
}

void OutputQueue::enqueue(Instant now, const Packet& packet, LostPackets& lost) {
  std::visit([&](auto& discipline) { discipline.enqueue(now, packet, lost); }, discipline_);
}

std::uint32_t OutputQueue::waiting() const {
  std::uint32_t const held = held_.has_value() ? 1 : 0;
  return held +
         std::visit([](auto const& discipline) { return discipline.packets(); }, discipline_);
}

OutputQueue::Step OutputQueue::step(Instant now, LostPackets& lost) {
  Step out;
  if (!held_) {
    Packet next;
    if (!std::visit([&](auto& discipline) { return discipline.dequeue(now, next, lost); },
                    discipline_)) {
      return out;
    }
    held_ = next;
    held_left_ = next.bytes - line_.link_header_bytes;
  }
  if (bucket_) {
    Instant const ready = bucket_->ready_at(now, held_->bytes);
    if (ready > now) {
      out.again = ready;
      return out;
    }
  }
  if (trace_) {
    return send_by_trace(now);
  }
  if (bucket_) {
    bucket_->take(now, held_->bytes);
  }
  out.sends = true;
  out.packet = *held_;
  out.left = now + line_.rate.time_of(std::uint64_t{held_->bytes} + line_.overhead_bytes);
  out.again = out.left;
  held_.reset();
  return out;
}

// An opportunity that finds nothing to send is lost; what one packet leaves of it is for the next.
OutputQueue::Step OutputQueue::send_by_trace(Instant now) {
  Step out;
  if (open_.at != now || open_.bytes == 0) {
    RateTrace::Opportunity const next =
        trace_->first_from(open_.at == now ? now + Duration{1} : now);
    if (next.at > now) {
      out.again = next.at;
      return out;
    }
    open_ = next;
  }
  std::uint64_t const sent = std::min(open_.bytes, held_left_);
  open_.bytes -= sent;
  held_left_ -= sent;
  if (held_left_ != 0) {
    out.again = trace_->first_from(now + Duration{1}).at;
    return out;
  }
  if (bucket_) {
    bucket_->take(now, held_->bytes);
  }
  out.sends = true;
  out.packet = *held_;
  out.left = now;
  out.again = now;
  held_.reset();
  return out;
}

}  // namespace lockstep::sim
