// The table of path MTUs.
#include "core/internet/path_mtu.hpp"

#include <algorithm>
#include <array>

#include "core/units/check.hpp"

namespace lockstep::internet {
namespace {

// A search_high that nothing has reduced yet.
constexpr std::uint16_t unbounded = 0xffff;
// A gain in octets too small to risk the loss of a probe.
constexpr std::uint32_t probe_worth = 16;
// The part of an address that is the network a single host may own: IPv6 /64, IPv4 /24.
constexpr std::uint32_t network_bits_v6 = 64;
constexpr std::uint32_t network_bits_v4 = 96 + 24;

}  // namespace

//= rfc1191#5
//# 1191:PMTU-7 the largest plateau below the size of the packet
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
  CHECK(config.least_v4 >= 68);
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

PathMtus::Entry* PathMtus::known(IpAddress destination) const {
  for (std::uint32_t i = 0; i < places; ++i) {
    Entry& entry = place(destination, i);
    if (entry.mtu != 0 && entry.destination == destination) {
      return &entry;
    }
  }
  return nullptr;
}

PathMtus::Estimate PathMtus::look_up(IpAddress destination, Instant now) {
  Entry* const entry = known(destination);
  if (entry == nullptr) {
    return {};
  }
  if (entry->until > now) {
    return {entry->mtu, false, entry->until};
  }
  if (entry->probed) {
    //= rfc4821#7.3
    //# 4821:PLP-10 the search restarts after the timer, at least five minutes
    entry->high = unbounded;
    entry->probed = false;
    entry->until = now + config_.age;
    return {entry->mtu, false, entry->until};
  }
  //= rfc1191#6.3
  //# 1191:PMTU-9 after the configured time without a decrease: back to the first-hop MTU
  //= rfc8201#5.3
  //# 8201:PMTU-11 which tries the larger size again
  forget(*entry);
  return {0, true, {}};
}

// Selects the entry to evict if all places are taken: the oldest of the destination's own network,
// and only if there is none, of others. So a host with a whole network of addresses evicts no
// others.
PathMtus::Entry& PathMtus::victim(IpAddress destination) const {
  Entry* chosen = nullptr;
  bool chosen_is_own = false;
  for (std::uint32_t i = 0; i < places; ++i) {
    Entry& entry = place(destination, i);
    bool const own = common_bits({entry.destination, destination}) >=
                     (destination.is_v4() ? network_bits_v4 : network_bits_v6);
    if (chosen == nullptr || (own == chosen_is_own ? entry.until < chosen->until : own)) {
      chosen = &entry;
      chosen_is_own = own;
    }
  }
  return *chosen;
}

// The entry of this destination; evicts another one if necessary.
PathMtus::Entry& PathMtus::claim(IpAddress destination) {
  Entry* chosen = known(destination);
  for (std::uint32_t i = 0; i < places && chosen == nullptr; ++i) {
    Entry& entry = place(destination, i);
    chosen = entry.mtu == 0 ? &entry : nullptr;
  }
  chosen = chosen == nullptr ? &victim(destination) : chosen;
  *used_ += chosen->mtu == 0 ? 1u : 0u;
  return *chosen;
}

void PathMtus::lower(IpAddress destination, std::uint16_t mtu, Instant now) {
  CHECK(mtu >= least_to(destination));
  std::uint16_t const found = find(destination, now);
  if (found != 0 && found <= mtu) {
    return;
  }
  Entry& entry = claim(destination);
  entry = Entry{};
  entry.destination = destination;
  //= rfc1191#3
  //# 1191:PMTU-4 no larger size is tried before the entry expires, after at least five minutes
  //= rfc8201#4
  //# 8201:PMTU-5 the same
  entry.until = now + config_.age;
  entry.mtu = mtu;
}

bool PathMtus::stalled(IpAddress destination, Instant now, Silence silence) {
  std::uint16_t const least = least_to(destination);
  std::uint16_t const found = find(destination, now);
  std::uint32_t const size =
      found == 0 ? silence.sent : std::min<std::uint32_t>(found, silence.sent);
  //= rfc4821#7.7
  //# 4821:PLP-18 search_low, or its initial value
  //# 4821:PLP-19 then half of it, but not below the minimum of every path
  std::uint32_t const smaller =
      size > silence.low ? silence.low : std::max<std::uint32_t>(least, size / 2);
  if (smaller >= size || smaller == found) {
    return false;
  }
  Entry& entry = claim(destination);
  entry = Entry{};
  entry.destination = destination;
  entry.until = now + config_.age;
  entry.mtu = static_cast<std::uint16_t>(smaller);
  entry.high = unbounded;
  return true;
}

std::uint32_t PathMtus::probe_size(IpAddress destination, Instant now, std::uint32_t most) {
  Entry const* const entry = known(destination);
  if (entry == nullptr || entry->high == 0 || now < entry->wait) {
    return 0;
  }
  std::uint32_t const high = std::min<std::uint32_t>(entry->high, most);
  //= rfc4821#7.3
  //# 4821:PLP-10 the remaining gain is not worth a loss: the search is over
  if (high < entry->mtu + probe_worth) {
    return 0;
  }
  // It may have been an outage and not a black hole: the largest size shows it at once.
  return entry->high == unbounded ? high : entry->mtu + (high - entry->mtu + 1) / 2;
}

void PathMtus::probed(IpAddress destination) {
  if (Entry* entry = known(destination)) {
    entry->probed = true;
  }
}

void PathMtus::passed(IpAddress destination, Instant now, std::uint16_t size) {
  Entry* const entry = known(destination);
  if (entry == nullptr || entry->high == 0) {
    return;
  }
  entry->mtu = std::max(entry->mtu, size);
  entry->high = std::max(entry->high, size);
  entry->until = now + config_.age;
}

void PathMtus::failed(IpAddress destination, Instant now, Failure failure) {
  Entry* const entry = known(destination);
  if (entry == nullptr || entry->high == 0) {
    return;
  }
  auto const below = static_cast<std::uint16_t>(failure.size - 1);
  entry->high = std::max(std::min(entry->high, below), least_to(destination));
  entry->mtu = std::min(entry->mtu, entry->high);
  entry->wait = now + failure.wait;
  entry->until = now + config_.age;
}

}  // namespace lockstep::internet
