// The table of path MTUs.
#include "core/internet/path_mtu.hpp"

#include <array>

#include "core/units/check.hpp"

namespace lockstep::internet {

//= rfc1191#5
//# 1191:PMTU-7 the largest plateau below the size that the packet had
std::uint16_t plateau_below(Bytes packet) {
  constexpr std::array<std::uint16_t, 9> plateaus{32000, 17914, 8166, 4352, 2002,
                                                  1492,  1006,  508,  296};
  for (std::uint16_t const plateau : plateaus) {
    if (plateau < packet.count) {
      return plateau;
    }
  }
  return 68;
}

PathMtus PathMtus::lay_out(memory::Layout& layout, const PathMtuConfig& config) {
  CHECK(config.entries_max.value != 0);
  PathMtus out;
  out.config_ = config;
  out.used_ = layout.place<std::uint32_t>(Count{1}).data();
  out.entries_ = layout.place<Entry>(config.entries_max);
  return out;
}

void PathMtus::start() {
  *used_ = 0;
  for (Entry& each : entries_.all()) {
    each = Entry{};
  }
}

PathMtus::Entry& PathMtus::place(IpAddress destination, std::uint32_t which) const {
  std::uint64_t const hash =
      TableHash(config_.key).add(destination.high).add(destination.low).finish();
  return entries_[static_cast<std::uint32_t>((hash + which) % entries_.count())];
}

void PathMtus::forget(Entry& entry) {
  entry = Entry{};
  --*used_;
}

std::uint16_t PathMtus::find(IpAddress destination, Instant now) {
  for (std::uint32_t i = 0; i < places; ++i) {
    Entry& entry = place(destination, i);
    if (entry.mtu == 0 || entry.destination != destination) {
      continue;
    }
    if (entry.until > now) {
      return entry.mtu;
    }
    //= rfc1191#6.3
    //# 1191:PMTU-9 after the configured time without a decrease: what the first hop carries
    //= rfc8201#5.3
    //# 8201:PMTU-11 which tries the larger size again
    forget(entry);
  }
  return 0;
}

void PathMtus::lower(IpAddress destination, std::uint16_t mtu, Instant now) {
  CHECK(mtu >= path_mtu_least(destination));
  std::uint16_t const known = find(destination, now);
  if (known != 0 && known <= mtu) {
    return;
  }
  Entry* chosen = nullptr;
  for (std::uint32_t i = 0; i < places; ++i) {
    Entry& entry = place(destination, i);
    if (entry.mtu != 0 && entry.destination == destination) {
      chosen = &entry;
      break;
    }
    bool const better = chosen == nullptr || entry.mtu == 0 || entry.until < chosen->until;
    if (better && (chosen == nullptr || chosen->mtu != 0)) {
      chosen = &entry;
    }
  }
  *used_ += chosen->mtu == 0 ? 1u : 0u;
  //= rfc1191#3
  //# 1191:PMTU-4 no larger size is tried before the entry's age, five minutes at the least
  //= rfc8201#4
  //# 8201:PMTU-5 likewise
  *chosen = {destination, now + config_.age, mtu};
}

}  // namespace lockstep::internet
