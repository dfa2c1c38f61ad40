// Datagrams that arrive in fragments: put together again within a hard bound, of either family.
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
  Count datagrams_max{0};      // that are incomplete at once; 0: no fragment is taken
  Bytes datagram_bytes{2048};  // behind the header; 1500 or more, so that RFC 8200 5 is kept
  Count per_source{4};         // datagrams of one source; at least 1
  Duration timeout = Duration::seconds(60);  // from the first fragment that arrives
};

// One fragment, taken from a packet whose addresses were judged.
struct FragmentArrival {
  IpAddress source;
  IpAddress destination;
  std::uint32_t identification = 0;
  std::uint8_t protocol = 0;     // of IPv4; 0 of IPv6, which goes by the identification alone
  std::uint8_t next_header = 0;  // of IPv6: what follows the fragment header
  std::uint32_t begin = 0;       // octets from the datagram's first
  bool more = false;
  bool congested = false;             // it was marked CE
  bool unable = false;                // it was Not-ECT
  std::span<const std::byte> header;  // the packet up to the data, or to the fragment header
  std::uint16_t named_at = 0;         // of IPv6: the octet of `header` that names that header
  std::span<const std::byte> data;
};

// The fragment that a packet is.
FragmentArrival fragment_of(const wire::Ipv4Packet& packet);
FragmentArrival fragment_of(const wire::Ipv6Packet& packet);

// The datagrams under way. A handle on the arena. Every function costs O(datagrams_max).
class Fragments {
 public:
  static constexpr std::uint32_t pieces_max = 48;   // fragments of one datagram
  static constexpr std::uint32_t header_max = 128;  // octets before the data

  Fragments() = default;
  static Count timers_max(const FragmentConfig& config) { return config.datagrams_max; }
  static Fragments lay_out(memory::Layout& layout, const FragmentConfig& config,
                           const memory::TimerWheel& wheel, memory::TimerOwner first_owner);
  void start();

  // Takes in a fragment. Drop::none, and `whole` is empty while others are missing, or else the
  // datagram as one packet, its header without any fragmentation: valid until settle(). Or
  // ip_fragment_malformed, ip_fragment_again (it was here before: nothing changes),
  // ip_fragment_overlap (the whole datagram is refused, what still comes of it included) or
  // ip_fragment_full.
  Drop take(const FragmentArrival& fragment, Instant now, std::span<const std::byte>& whole);
  // The datagrams that were handed out are read: their memory is free.
  void settle();
  // The timer with the owner `first_owner + index` has fired.
  void expire(Index index);

  // How many are under way, for tests.
  std::uint32_t used() const { return *used_; }

  // Hands every stored value of meaning to `add(std::uint64_t)`, in a fixed order.
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
    Instant first;  // when its first fragment arrived
    std::uint32_t identification = 0;
    std::uint32_t total = 0;  // octets, once the last fragment is here
    std::uint32_t held = 0;   // octets
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
