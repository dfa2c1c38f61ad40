// Path MTUs below the link MTU: a bounded table of destinations, with aging.
#pragma once

#include <cstdint>

#include "core/memory/arena.hpp"
#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/hash.hpp"
#include "core/units/time.hpp"

namespace lockstep::internet {

struct PathMtuConfig {
  Count entries_max{64};                  // at least 1
  Duration age = Duration::seconds(600);  // since the last decrease; at least 300 s (RFC 1191 3)
  HashKey key;                            // secret from attackers
  std::uint16_t least_v4 = 68;            // minimum estimate for IPv4: at least 68
};

// The minimum of an estimate (RFC 1191 3, RFC 8201 4).
constexpr std::uint16_t path_mtu_least(IpAddress destination) {
  return destination.is_v4() ? 68 : 1280;
}

// The largest common MTU below a packet's size (RFC 1191 7.1), for routers that report none.
std::uint16_t plateau_below(Bytes packet);

// A handle on the arena. Every function is O(1): a destination has four places; if all are taken,
// the oldest entry is evicted, preferably one of the same network (IPv6 /64, IPv4 /24).
class PathMtus {
 public:
  PathMtus() = default;
  static PathMtus lay_out(memory::Layout& layout, const PathMtuConfig& config);
  void start();

  // The minimum estimate for `destination`.
  std::uint16_t least_to(IpAddress destination) const {
    return destination.is_v4() ? config_.least_v4 : path_mtu_least(destination);
  }
  // Whether anything is stored; if not, no look-up is needed.
  bool any() const { return *used_ != 0; }
  struct Estimate {
    std::uint16_t mtu = 0;  // 0: no less than the link MTU, as far as known
    bool expired = false;   // an estimate ended in this call, by its age
    Instant until;          // when `mtu` ends; without meaning if that is 0
  };
  // The path MTU to `destination`.
  Estimate look_up(IpAddress destination, Instant now);
  std::uint16_t find(IpAddress destination, Instant now) { return look_up(destination, now).mtu; }
  Duration age() const { return config_.age; }
  // Lowers the path MTU to `mtu`, which is at least least_to(). Never raises it.
  void lower(IpAddress destination, std::uint16_t mtu, Instant now);

  // --- packetization-layer search (RFC 4821); all sizes are of packets ---
  // Packets are dropped silently: starts a search with smaller packets. `low` is its first size,
  // `sent` the size that was lost. False: there is no smaller size.
  struct Silence {
    std::uint16_t low;
    std::uint32_t sent;
  };
  bool stalled(IpAddress destination, Instant now, Silence silence);
  // The size of the next probe, at most `most`; 0: no search, or it has to wait.
  std::uint32_t probe_size(IpAddress destination, Instant now, std::uint32_t most);
  // A probe was sent.
  void probed(IpAddress destination);
  // A packet of `size` octets was delivered.
  void passed(IpAddress destination, Instant now, std::uint16_t size);
  // A probe was lost; the next one has to wait.
  struct Failure {
    std::uint16_t size;
    Duration wait;
  };
  void failed(IpAddress destination, Instant now, Failure failure);

  template <class Add>
  void visit(Add&& add) const {
    for (Entry const& each : entries_.all()) {
      if (each.mtu != 0) {
        add(each.destination.high);
        add(each.destination.low);
        add(each.mtu);
        add(each.until.ns);
        add(std::uint64_t{each.high} << 1 | (each.probed ? 1u : 0u));
        add(each.wait.ns);
      }
    }
  }

 private:
  static constexpr std::uint32_t places = 4;
  struct Entry {
    IpAddress destination;
    Instant until;
    std::uint16_t mtu = 0;   // 0: vacant; in a search eff_pmtu and search_low
    std::uint16_t high = 0;  // search_high; 0: no search
    bool probed = false;     // since the search started or was widened
    Instant wait;            // no probe before this
  };
  Entry* known(IpAddress destination) const;
  Entry& victim(IpAddress destination) const;
  Entry& claim(IpAddress destination);
  Entry& place(IpAddress destination, std::uint32_t which) const;
  void forget(Entry& entry);

  PathMtuConfig config_;
  memory::View<Entry> entries_;
  std::uint32_t* used_ = nullptr;
};

}  // namespace lockstep::internet
