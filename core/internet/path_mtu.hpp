// What paths carry, where it is less than the link: a bounded table of destinations, with ages.
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
  Duration age = Duration::seconds(600);  // after the last decrease; 300 s or more (RFC 1191 3)
  HashKey key;                            // an outsider must not know it
  std::uint16_t least_v4 = 68;            // no estimate of IPv4 is less: 68 or more
};

// The least that an estimate can be (RFC 1191 3, RFC 8201 4).
constexpr std::uint16_t path_mtu_least(IpAddress destination) {
  return destination.is_v4() ? 68 : 1280;
}

// The largest usual MTU below a packet's size (RFC 1191 7.1): for routers that do not tell theirs.
std::uint16_t plateau_below(Bytes packet);

// A handle on the arena. Everything costs O(1): a destination has four places, and when all are
// taken the one that was told first gives way, one of the same network (a /64, or of IPv4 a /24)
// before others.
class PathMtus {
 public:
  PathMtus() = default;
  static PathMtus lay_out(memory::Layout& layout, const PathMtuConfig& config);
  void start();

  // No estimate for `destination` is less.
  std::uint16_t least_to(IpAddress destination) const {
    return destination.is_v4() ? config_.least_v4 : path_mtu_least(destination);
  }
  // Whether anything is known of any path: while not, nobody need ask.
  bool any() const { return *used_ != 0; }
  // What the path to `destination` carries, or 0: no less than the link, as far as is known.
  std::uint16_t find(IpAddress destination, Instant now);
  // The path carries no more than `mtu`, which is not below least_to(). Never raises.
  void lower(IpAddress destination, std::uint16_t mtu, Instant now);

  // --- the search of packetization layers (RFC 4821); sizes are of packets ---
  // Nothing passes: smaller packets from here on, and a search upwards. `low` is where it begins,
  // `sent` the size that did not pass. False: there is nothing smaller.
  struct Silence {
    std::uint16_t low;
    std::uint32_t sent;
  };
  bool stalled(IpAddress destination, Instant now, Silence silence);
  // The size of the next probe, `most` at most; 0: no search is under way, or it has to wait.
  std::uint32_t probe_size(IpAddress destination, Instant now, std::uint32_t most);
  // A probe has left.
  void probed(IpAddress destination);
  // A packet of `size` octets has arrived.
  void passed(IpAddress destination, Instant now, std::uint16_t size);
  // A probe was lost, and the next one has to wait.
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
    std::uint16_t mtu = 0;   // 0: vacant; of a search eff_pmtu and search_low
    std::uint16_t high = 0;  // search_high; 0: no search
    bool probed = false;     // since the search was begun, or widened
    Instant wait;            // no probe before
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
