// Which octets a device delivers when segments or fragments with different octets overlap.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "conformance/devices/peer.hpp"
#include "conformance/overlaps/arrangement.hpp"
#include "core/units/address.hpp"
#include "core/units/sequence.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::conformance {

/// What the chunks are.
enum class OverlapLayer : std::uint8_t {
  tcp_queued,    ///< segments; an octet before them arrives last, so the receiver queues them
  tcp_in_order,  ///< segments; what is in order is delivered at once
  ipv4,          ///< fragments of an IPv4 packet with a TCP segment
  ipv6,          ///< ... of an IPv6 packet
};
inline constexpr std::uint32_t overlap_layers = 4;
/// "TCP, queued"; "IPv6".
std::string_view name_of(OverlapLayer layer);

/// How what was delivered relates to what was sent.
enum class OverlapOutcome : std::uint8_t {
  apart,       ///< no unit was sent twice
  first,       ///< each unit is that of the chunk that arrived first
  first_part,  ///< ... where it was kept: the rest had to be sent again
  last,        ///< ... of the chunk that arrived last
  last_part,
  mixed,    ///< neither
  dropped,  ///< nothing was delivered
  lost,     ///< dropped, or sent again, although no unit was sent twice
};
inline constexpr std::uint32_t overlap_outcomes = 8;
/// "first wins"; "first wins, part is sent again".
std::string_view name_of(OverlapOutcome outcome);

/// Delivered units that no chunk has.
inline constexpr char sent_again = 'z', wrong_octets = '?';
inline constexpr std::string_view nothing_delivered = "-";

/// The outcome of a text that OverlapSession::deliver() returned.
OverlapOutcome outcome_of(const Arrangement& arrangement, std::string_view delivered);

/// What must not happen, as one line with the clause; empty: nothing.
std::string overlap_violation(OverlapLayer layer, const Arrangement& arrangement,
                              std::string_view delivered);

/// A device with one connection, over which arrangements arrive one after the other.
class OverlapSession {
 public:
  /// Starts the device and opens a connection, unless left_out() says why not. `device` is a path
  /// as device_path() returns it. Throws Failure or DeviceFault.
  OverlapSession(const std::filesystem::path& device, OverlapLayer layer);
  ~OverlapSession();
  OverlapSession(const OverlapSession&) = delete;
  OverlapSession& operator=(const OverlapSession&) = delete;

  /// Why the device cannot be asked, in one line; empty: it can.
  const std::string& left_out() const { return left_out_; }

  /// The letter of each unit that the device delivers: of a chunk, no_chunk for what lies between
  /// chunks, sent_again, or wrong_octets; or nothing_delivered. left_out() must be empty. Throws
  /// DeviceFault.
  std::string deliver(const Arrangement& arrangement);

 private:
  void create();
  bool open();
  std::string segment(wire::Flags flags, Sequence at, std::string_view letters) const;
  void send(std::string_view payload, const wire::Ipv6Fragment& part = {});
  void send_letters(std::size_t begin, std::string_view letters);
  void note(const DeviceAnswer& answer);
  void pass(std::uint64_t ns);
  void read(std::string& into);
  std::string deliver_segments(const Arrangement& arrangement);
  std::string deliver_fragments(const Arrangement& arrangement);

  DevicePeer peer_;
  OverlapLayer layer_;
  IpAddress local_, remote_;
  std::string left_out_;
  std::uint64_t now_ = 0;
  std::uint64_t listener_ = 0, connection_ = 0;
  std::uint16_t port_ = 40'000;  ///< of the tester
  Sequence next_{0};             ///< the next octet of the tester's stream
  Sequence acked_{0};            ///< the device's next octet
  bool opening_ = false, reset_ = false, gone_ = false;
  std::uint32_t identification_ = 0;  ///< of fragmented packets
};

}  // namespace lockstep::conformance
