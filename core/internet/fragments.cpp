// Reassembly of fragments.
#include "core/internet/fragments.hpp"

#include <algorithm>
#include <cstring>

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::internet {
namespace {

constexpr std::uint32_t datagram_bytes_max = 65535;
constexpr std::uint8_t congestion_experienced = 3;

bool is_v6(std::span<const std::byte> header) { return (header.front() >> 4) == std::byte{6}; }

// Rewrites the header as if the datagram had not been fragmented.
void rewrite_v4(std::span<std::byte> header, std::uint32_t total, bool congested) {
  std::byte* const at = header.data();
  wire::store16(at + 2, static_cast<std::uint16_t>(header.size() + total));
  wire::store16(at + 6, 0);
  if (congested) {
    wire::store8(at + 1, wire::load8(at + 1) | congestion_experienced);
  }
  wire::store16(at + 10, 0);
  wire::store16(at + 10, wire::sum(header).checksum());
}

void rewrite_v6(std::span<std::byte> header, std::uint32_t total, bool congested) {
  std::byte* const at = header.data();
  wire::store16(at + 4,
                static_cast<std::uint16_t>(header.size() - wire::ipv6_header_bytes + total));
  if (congested) {
    wire::store8(at + 1, static_cast<std::uint8_t>(wire::load8(at + 1) | 0x30));
  }
}

}  // namespace

//= rfc791#3.2
//# 791:IP4-6 identified by source, destination, protocol and identification
FragmentArrival fragment_of(const wire::Ipv4Packet& packet) {
  FragmentArrival out;
  out.source = packet.header.source;
  out.destination = packet.header.destination;
  out.identification = packet.header.identification;
  out.protocol = static_cast<std::uint8_t>(packet.header.protocol);
  out.begin = packet.header.fragment_offset * 8u;
  out.more = packet.header.more_fragments;
  out.congested = (packet.header.traffic_class & 3) == congestion_experienced;
  out.unable = (packet.header.traffic_class & 3) == 0;
  out.header = packet.bytes.first(packet.bytes.size() - packet.payload.size());
  out.data = packet.payload;
  return out;
}

//= rfc8200#4.5
//# 8200:V6-11 identified by source, destination and identification
FragmentArrival fragment_of(const wire::Ipv6Packet& packet) {
  FragmentArrival out;
  out.source = packet.header.source;
  out.destination = packet.header.destination;
  out.identification = packet.fragment.identification;
  out.next_header = wire::load8(packet.bytes.data() + packet.fragment_at);
  out.begin = packet.fragment.offset * 8u;
  out.more = packet.fragment.more;
  out.congested = (packet.header.traffic_class & 3) == congestion_experienced;
  out.unable = (packet.header.traffic_class & 3) == 0;
  out.header = packet.bytes.first(packet.fragment_at);
  out.named_at = packet.fragment_named_at;
  out.data = packet.bytes.subspan(packet.fragment_at + wire::ipv6_fragment_bytes);
  return out;
}

//= rfc791#3.1
//# 791:IP4-3 the configured space is at least 1480 octets plus a header
//= rfc8200#5
//# 8200:V6-23 so 1500 octets in total are accepted
Fragments Fragments::lay_out(memory::Layout& layout, const FragmentConfig& config,
                             const memory::TimerWheel& wheel, memory::TimerOwner first_owner) {
  Fragments fragments;
  fragments.config_ = config;
  fragments.first_owner_ = first_owner;
  fragments.used_ = layout.place<std::uint32_t>(Count{1}).data();
  fragments.datagrams_ = layout.place<Datagram>(config.datagrams_max);
  fragments.bytes_ = layout.place_bytes(std::uint64_t{config.datagrams_max.value} *
                                        (header_max + config.datagram_bytes.count));
  fragments.wheel_ = wheel;
  return fragments;
}

void Fragments::start() {
  *used_ = 0;
  for (Datagram& each : datagrams_.all()) {
    each = Datagram{};
  }
}

std::byte* Fragments::memory_of(Index index) const {
  return bytes_ + std::uint64_t{index} * (header_max + config_.datagram_bytes.count);
}

Index Fragments::find(const FragmentArrival& fragment) const {
  for (Index i = 0; i < datagrams_.count(); ++i) {
    Datagram const& each = datagrams_[i];
    bool const open = each.state == State::collecting || each.state == State::refused;
    if (open && each.identification == fragment.identification &&
        each.protocol == fragment.protocol && each.source == fragment.source &&
        each.destination == fragment.destination) {
      return i;
    }
  }
  return nil;
}

void Fragments::release(Index index) {
  Datagram& each = datagrams_[index];
  wheel_.cancel(each.timer);
  Index const timer = each.timer;
  each = Datagram{};
  each.timer = timer;
  --*used_;
}

// A place for a new datagram; nil if all hold completed datagrams. Evicts the oldest one, or the
// oldest of the same source if that has its share: so a flood, even with forged sources, delays
// others only while it lasts.
Index Fragments::begin(const FragmentArrival& fragment, Instant now) {
  Index vacant = nil;
  Index oldest = nil;
  Index oldest_of_source = nil;
  std::uint32_t of_source = 0;
  for (Index i = 0; i < datagrams_.count(); ++i) {
    Datagram const& each = datagrams_[i];
    if (each.state == State::vacant) {
      vacant = vacant == nil ? i : vacant;
      continue;
    }
    bool const same_source = each.source == fragment.source;
    of_source += same_source ? 1u : 0u;
    if (each.state == State::whole) {
      continue;
    }
    auto const older = [&](Index than) {
      return than == nil || each.first < datagrams_[than].first;
    };
    oldest = older(oldest) ? i : oldest;
    oldest_of_source = same_source && older(oldest_of_source) ? i : oldest_of_source;
  }
  if (of_source >= config_.per_source.value) {
    vacant = nil;
    oldest = oldest_of_source;
  }
  if (vacant == nil && oldest != nil) {
    release(oldest);
    vacant = oldest;
  }
  if (vacant == nil) {
    return nil;
  }
  Datagram& each = datagrams_[vacant];
  each.timer = each.timer != nil ? each.timer : wheel_.open({first_owner_.value + vacant});
  CHECK(each.timer != nil);
  each.source = fragment.source;
  each.destination = fragment.destination;
  each.identification = fragment.identification;
  each.protocol = fragment.protocol;
  each.first = now;
  each.state = State::collecting;
  //= rfc8200#4.5
  //# 8200:V6-12 sixty seconds from the fragment that arrived first
  wheel_.set(each.timer, now + config_.timeout);
  ++*used_;
  return vacant;
}

// Discards the data but keeps the identification, so that later fragments are refused as well.
void Fragments::refuse(Datagram& datagram) {
  datagram.state = State::refused;
  datagram.piece_count = 0;
  datagram.held = 0;
}

Drop Fragments::add(Datagram& datagram, std::byte* memory, const FragmentArrival& fragment) {
  std::uint32_t const begin = fragment.begin;
  auto const end = static_cast<std::uint32_t>(begin + fragment.data.size());
  for (std::uint32_t i = 0; i < datagram.piece_count; ++i) {
    Piece const& piece = datagram.pieces[i];
    bool const same =
        piece.begin == begin && piece.end == end &&
        std::memcmp(memory + header_max + begin, fragment.data.data(), fragment.data.size()) == 0;
    if (same) {
      return Drop::ip_fragment_again;
    }
    if (begin < piece.end && piece.begin < end) {
      return Drop::ip_fragment_overlap;
    }
  }
  // The end is fixed, and no data lies behind it.
  bool const beyond = datagram.has_total && (end > datagram.total || !fragment.more);
  bool behind = false;
  for (std::uint32_t i = 0; i < datagram.piece_count; ++i) {
    behind = behind || (!fragment.more && datagram.pieces[i].end > end);
  }
  if (beyond || behind) {
    return Drop::ip_fragment_overlap;
  }
  if (datagram.piece_count == pieces_max || end > config_.datagram_bytes.count ||
      fragment.header.size() > header_max) {
    return Drop::ip_fragment_full;
  }
  if (begin == 0) {
    //= rfc8200#4.5
    //# 8200:V6-11 the headers are those of the fragment with offset 0
    //= rfc791#3.2
    //# 791:IP4-13 the same for IPv4; the length follows from the last fragment
    auto const length = static_cast<std::uint16_t>(fragment.header.size());
    std::byte* const header = memory + header_max - length;
    std::memcpy(header, fragment.header.data(), length);
    if (is_v6(fragment.header)) {
      header[fragment.named_at] = std::byte{fragment.next_header};
    }
    datagram.header_bytes = length;
  }
  if (!fragment.more) {
    datagram.has_total = true;
    datagram.total = end;
  }
  std::memcpy(memory + header_max + begin, fragment.data.data(), fragment.data.size());
  datagram.pieces[datagram.piece_count] = {static_cast<std::uint16_t>(begin),
                                           static_cast<std::uint16_t>(end)};
  ++datagram.piece_count;
  datagram.held += end - begin;
  datagram.congested = datagram.congested || fragment.congested;
  datagram.unable = datagram.unable || fragment.unable;
  //= rfc3168#5.3
  //# 3168:ECN-15 a CE fragment and a Not-ECT fragment: the packet is dropped
  return datagram.congested && datagram.unable ? Drop::ip_fragment_overlap : Drop::none;
}

std::span<const std::byte> Fragments::finish(Index index) {
  Datagram& each = datagrams_[index];
  std::byte* const header = memory_of(index) + header_max - each.header_bytes;
  std::span<std::byte> const front(header, each.header_bytes);
  //= rfc3168#5.3
  //# 3168:ECN-15, 3168:ECN-31 CE if any fragment has it, otherwise the common value
  if (is_v6(front)) {
    rewrite_v6(front, each.total, each.congested);
  } else {
    rewrite_v4(front, each.total, each.congested);
  }
  each.state = State::whole;
  wheel_.cancel(each.timer);
  return {header, std::size_t{each.header_bytes} + each.total};
}

Drop Fragments::take(const FragmentArrival& fragment, Instant now,
                     std::span<const std::byte>& whole) {
  whole = {};
  std::size_t const end = fragment.begin + fragment.data.size();
  //= rfc8200#4.5
  //# 8200:V6-14 all but the last are multiples of eight octets
  //# 8200:V6-15 and none ends beyond 65,535
  //= rfc791#3.2
  //# 791:IP4-9 the same for IPv4
  if (fragment.data.empty() || (fragment.more && fragment.data.size() % 8 != 0) ||
      end + fragment.header.size() > datagram_bytes_max) {
    return Drop::ip_fragment_malformed;
  }
  Index index = find(fragment);
  if (index == nil) {
    index = begin(fragment, now);
    if (index == nil) {
      return Drop::ip_fragment_full;
    }
  }
  Datagram& datagram = datagrams_[index];
  if (datagram.state == State::refused) {
    return Drop::ip_fragment_overlap;
  }
  Drop const drop = add(datagram, memory_of(index), fragment);
  if (drop == Drop::ip_fragment_again) {
    return drop;
  }
  if (drop != Drop::none) {
    //= rfc5722#4
    //# 5722:OVL-2 an overlap discards the datagram, silently, and its later fragments
    //# 5722:OVL-3 and is counted
    //= rfc8200#4.5
    //# 8200:V6-17 with all of its fragments
    //= rfc791#3.2
    //# 791:IP4-10 for IPv4 as well: neither copy is used
    refuse(datagram);
    return drop;
  }
  if (datagram.has_total && datagram.held == datagram.total) {
    whole = finish(index);
  }
  return Drop::none;
}

void Fragments::settle() {
  if (*used_ == 0) {
    return;
  }
  for (Index i = 0; i < datagrams_.count(); ++i) {
    if (datagrams_[i].state == State::whole) {
      release(i);
    }
  }
}

std::span<const std::byte> Fragments::first_fragment(Index index) const {
  Datagram const& each = datagrams_[index];
  std::byte const* const header = memory_of(index) + header_max - each.header_bytes;
  if (each.state != State::collecting || each.header_bytes == 0 ||
      is_v6({header, each.header_bytes})) {
    return {};
  }
  return {header, wire::load16(header + 2)};
}

//= rfc791#3.2
//# 791:IP4-12 when the timer expires, all fragments are released
void Fragments::expire(Index index) {
  CHECK(datagrams_[index].state != State::vacant);
  release(index);
}

}  // namespace lockstep::internet
