// When CoDel drops: RFC 8289 5.5 and 5.6.
#include "sim/queues/codel.hpp"

namespace lockstep::sim {

// interval / sqrt(count), with 16 fractional bits of the root.
Instant CoDelControl::law(const CoDelSpec& spec, Instant from) const {
  return from + Duration{(spec.interval.ns << 16) / root_of(std::uint64_t{count_} << 32)};
}

CoDelControl::Taken CoDelControl::take(const CoDelSpec& spec, Instant now, PacketRing& ring) {
  Taken taken;
  if (ring.empty()) {
    first_above_ = Instant{0};
    return taken;
  }
  taken.any = true;
  taken.packet = ring.pop();
  if (now.since(taken.packet.entered) < spec.target || ring.bytes() <= spec.packet_bytes) {
    first_above_ = Instant{0};
  } else if (first_above_ == Instant{0}) {
    first_above_ = now + spec.interval;
  } else {
    taken.may_drop = now >= first_above_;
  }
  return taken;
}

bool CoDelControl::dequeue(const CoDelSpec& spec, Instant now, PacketRing& ring, Packet& out,
                           LostPackets& lost) {
  Taken taken = take(spec, now, ring);
  // Marks the packet, and keeps it; or drops it and takes the next.
  auto const strike = [&] {
    if (spec.ecn && taken.packet.ect) {
      taken.packet.marked = true;
      return false;
    }
    lost.push_back({taken.packet, LinkDrop::early_dropped});
    taken = take(spec, now, ring);
    return true;
  };
  if (dropping_) {
    dropping_ = taken.may_drop;
    while (dropping_ && now >= drop_next_) {
      ++count_;
      bool const dropped = strike();
      dropping_ = taken.may_drop;
      if (dropping_) {
        drop_next_ = law(spec, drop_next_);
      }
      if (!dropped) {
        break;
      }
    }
  } else if (taken.may_drop) {
    strike();
    dropping_ = true;
    std::uint32_t const delta = count_ - last_count_;
    bool const recent = now.since(drop_next_) < spec.interval * 16;
    count_ = delta > 1 && recent ? delta : 1;
    drop_next_ = law(spec, now);
    last_count_ = count_;
  }
  out = taken.packet;
  return taken.any;
}

}  // namespace lockstep::sim
