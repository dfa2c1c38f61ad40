// Bounded reassembly of fragmented datagrams, both families.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/memory/arena.hpp"
#include "core/memory/slots.hpp"
#include "core/memory/timer_wheel.hpp"
#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"
#include "core/units/time.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::internet {

using memory::Index;
using memory::nil;

struct FragmentConfig {
  Count datagrams_max{0};      // incomplete ones at a time; 0: fragments are dropped
  Bytes datagram_bytes{2048};  // after the header; at least 1500, as RFC 8200 5 requires
  Count per_source{4};         // incomplete datagrams per source; at least 1
  Duration timeout = Duration::seconds(60);  // from the arrival of the first fragment
};

// One fragment, from a packet whose addresses are valid.
struct FragmentArrival {
  IpAddress source;
  IpAddress destination;
  std::uint32_t identification = 0;
  std::uint8_t protocol = 0;     // IPv4; 0 for IPv6, which uses the identification only
  std::uint8_t next_header = 0;  // IPv6: the type of the header after the fragment header
  std::uint32_t begin = 0;       // offset in octets from the start of the datagram
  bool more = false;
  bool congested = false;             // marked CE
  bool unable = false;                // Not-ECT
  std::span<const std::byte> header;  // the packet up to the data, or up to the fragment header
  std::uint16_t named_at =
      0;  // IPv6: offset in `header` of the field that names the fragment header
  std::span<const std::byte> data;
};

// The fragment in a packet.
FragmentArrival fragment_of(const wire::Ipv4Packet& packet);
FragmentArrival fragment_of(const wire::Ipv6Packet& packet);

// The incomplete datagrams. A handle on the arena. Every function is O(datagrams_max).
class Fragments {
 public:
  static constexpr std::uint32_t pieces_max = 48;   // fragments of one datagram
  static constexpr std::uint32_t header_max = 128;  // octets before the data

  Fragments() = default;
  static Count timers_max(const FragmentConfig& config) { return config.datagrams_max; }
  static Fragments lay_out(memory::Layout& layout, const FragmentConfig& config,
                           const memory::TimerWheel& wheel, memory::TimerOwner first_owner);
  void start();

  // Adds a fragment. Returns Drop::none with `whole` empty while fragments are missing, or with the
  // complete datagram as one packet without fragmentation, valid until settle(). Otherwise returns
  // ip_fragment_malformed, ip_fragment_again (duplicate, no effect), ip_fragment_overlap (the
  // datagram is discarded, and so are its later fragments) or ip_fragment_full.
  Drop take(const FragmentArrival& fragment, Instant now, std::span<const std::byte>& whole);
  // Releases the memory of the complete datagrams that were returned.
  void settle();
  // The first fragment of an incomplete IPv4 datagram, as it arrived, valid until settle() or
  // expire(). Empty for IPv6, if it is missing, and if fragments overlapped.
  std::span<const std::byte> first_fragment(Index index) const;
  // The timer with owner `first_owner + index` fired.
  void expire(Index index);

  // How many datagrams are incomplete, for tests.
  std::uint32_t used() const { return *used_; }

  // Passes every relevant stored value to `add(std::uint64_t)`, in a fixed order.
  template <class Add>
  void visit(Add&& add) const;

 private:
  enum class State : std::uint8_t { vacant, collecting, refused, whole };
  struct Piece {
    std::uint16_t begin = 0;
    std::uint16_t end = 0;
  };
  struct Datagram {
    IpAddress source;
    IpAddress destination;
    Instant first;  // arrival of its first fragment
    std::uint32_t identification = 0;
    std::uint32_t total = 0;  // in octets, once the last fragment has arrived
    std::uint32_t held = 0;   // in octets
    Index timer = nil;
    std::uint16_t header_bytes = 0;  // 0: the first fragment is missing
    std::uint16_t piece_count = 0;
    std::uint8_t protocol = 0;
    State state = State::vacant;
    bool has_total = false;
    bool congested = false;
    bool unable = false;
    std::array<Piece, pieces_max> pieces{};
  };

  Index find(const FragmentArrival& fragment) const;
  Index begin(const FragmentArrival& fragment, Instant now);
  Drop add(Datagram& datagram, std::byte* memory, const FragmentArrival& fragment);
  void release(Index index);
  void refuse(Datagram& datagram);
  std::byte* memory_of(Index index) const;
  std::span<const std::byte> finish(Index index);

  FragmentConfig config_;
  memory::TimerOwner first_owner_{};
  memory::View<Datagram> datagrams_;
  std::uint32_t* used_ = nullptr;
  std::byte* bytes_ = nullptr;
  memory::TimerWheel wheel_;
};

template <class Add>
void Fragments::visit(Add&& add) const {
  for (Index i = 0; i < datagrams_.count(); ++i) {
    Datagram const& each = datagrams_[i];
    if (each.state == State::vacant) {
      continue;
    }
    add(each.source.high);
    add(each.source.low);
    add(each.destination.high);
    add(each.destination.low);
    add(std::uint64_t{each.identification} << 32 | each.total);
    add(std::uint64_t{each.held} << 32 | std::uint64_t{each.header_bytes} << 16 |
        std::uint64_t{each.protocol} << 8 | static_cast<std::uint64_t>(each.state));
    add((each.unable ? 4u : 0u) | (each.has_total ? 2u : 0u) | (each.congested ? 1u : 0u));
    add(wheel_.due(each.timer).ns);
    for (std::uint32_t p = 0; p < each.piece_count; ++p) {
      add(std::uint64_t{each.pieces[p].begin} << 16 | each.pieces[p].end);
    }
  }
}

}  // namespace lockstep::internet
