// Deficit round robin over the flows: RFC 8290 4.1 and 4.2.
#include "sim/queues/fq_codel.hpp"

namespace lockstep::sim {

void FqCoDel::List::pop() {
  CHECK(!empty());
  if (++from_ == all_.size()) {
    all_.clear();
    from_ = 0;
  } else if (from_ > 1'024 && from_ * 2 > all_.size()) {
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(from_));
    from_ = 0;
  }
}

FqCoDel::FqCoDel(const FqCoDelSpec& spec) : spec_(spec), flows_(spec.flows) {
  CHECK(spec.flows != 0);
  CHECK(spec.quantum_bytes != 0);
  CHECK(spec.limit_packets != 0);
}

void FqCoDel::enqueue(Instant now, Packet packet, LostPackets& lost) {
  packet.entered = now;
  std::uint32_t const at = packet.flow % spec_.flows;
  Flow& flow = flows_[at];
  flow.ring.push(packet);
  ++packets_;
  if (flow.place == Place::idle) {
    flow.place = Place::fresh;
    flow.credit = spec_.quantum_bytes;
    fresh_.push(at);
  }
  if (packets_ > spec_.limit_packets) {
    drop_from_fattest(lost);
  }
}

void FqCoDel::drop_from_fattest(LostPackets& lost) {
  Flow* fattest = &flows_[0];
  for (Flow& flow : flows_) {
    if (flow.ring.bytes() > fattest->ring.bytes()) {
      fattest = &flow;
    }
  }
  lost.push_back({fattest->ring.pop(), LinkDrop::queue_full});
  --packets_;
}

bool FqCoDel::dequeue(Instant now, Packet& out, LostPackets& lost) {
  while (!fresh_.empty() || !old_.empty()) {
    List& list = fresh_.empty() ? old_ : fresh_;
    std::uint32_t const at = list.first();
    Flow& flow = flows_[at];
    if (flow.credit <= 0) {
      flow.credit += spec_.quantum_bytes;
      list.pop();
      old_.push(at);
      flow.place = Place::old;
      continue;
    }
    std::uint32_t const before = flow.ring.size();
    bool const any = flow.control.dequeue(spec_.codel, now, flow.ring, out, lost);
    packets_ -= before - flow.ring.size();
    if (any) {
      flow.credit -= out.bytes;
      return true;
    }
    // A new flow that is empty gets one more turn among the old ones, so that it cannot be new
    // again at once.
    bool const was_fresh = flow.place == Place::fresh;
    list.pop();
    if (was_fresh && !old_.empty()) {
      old_.push(at);
      flow.place = Place::old;
    } else {
      flow.place = Place::idle;
    }
  }
  return false;
}

}  // namespace lockstep::sim
