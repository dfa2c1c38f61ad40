// The virtual network of libslirp: its clock and timers, the frames of the tester, and the sockets
// of the host behind it.
#pragma once

#include <netinet/in.h>
#include <slirp/libslirp.h>
#include <sys/socket.h>

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "conformance/devices/device.h"

namespace lockstep::conformance::libslirp {

/// Ports of the host that are forwarded to the tester, from the first one.
constexpr std::uint16_t forward_first = 40'000;

using Octets = std::vector<std::uint8_t>;

struct Socket {
  int descriptor = -1;
  std::int64_t error = 0;  ///< that a call returned, and that was not asked for since
  int listens_on = -1;     ///< the port
};

/// A connection of the host to a listener for which the tester's handshake is not complete.
struct Waiting {
  std::int64_t listener = 0;
  int descriptor = -1;
  std::uint16_t port = 0;  ///< of the library's end
};

/// One of an IP family.
union Name {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// A line of the library's list: "TCP[SYN_SENT]  6  127.0.0.1 40000  10.0.0.2 90  0 0".
struct Listed {
  std::string state;
  int descriptor = -1;
  std::uint16_t source_port = 0, destination_port = 0;
};

}  // namespace lockstep::conformance::libslirp

struct lockstep_device {
  bool six = false;
  lockstep::conformance::libslirp::Name local{};   ///< the address that the tester sees
  lockstep::conformance::libslirp::Name remote{};  ///< the tester's
  socklen_t name_bytes = 0;
  Slirp* slirp = nullptr;
  SlirpCb callbacks{};
  std::uint64_t start_ns = 0, now_ns = 0;
  std::uint64_t slow_at_ms = 0;  ///< when the slow timer ran last
  std::uint64_t deadline_ns = LOCKSTEP_DEVICE_NEVER;
  /// The device's ports of its connections, by the port of the host that is forwarded.
  std::vector<std::uint16_t> forwarded;
  std::deque<lockstep::conformance::libslirp::Octets> sent;
  std::vector<lockstep::conformance::libslirp::Socket> sockets;  ///< by handle - 1
  std::vector<lockstep::conformance::libslirp::Waiting> waiting;
  /// The ports of the library's ends whose connections are, or were, established.
  std::set<std::uint16_t> established;
  std::string told;
};

namespace lockstep::conformance::libslirp {

/// The address of `like` with this port.
Name with_port(const Name& like, std::uint16_t port);
/// The host's own address. The library shows it to the tester as the device's.
Name loopback(const lockstep_device* d, std::uint16_t port);
/// The port of a socket of the host, or that of its peer.
std::uint16_t port_of(int descriptor, bool of_peer);
/// A socket of the host, with buffers in which there is always room.
int roomy(int descriptor);

/// Makes the network in a namespace of its own; the reason if that cannot be.
std::string make(lockstep_device* d, const lockstep_device_setup& setup);
/// Runs the library until its sockets are quiet, and what its timers have to do. Nothing waits:
/// the loopback interface delivers within the call that sends.
void settle(lockstep_device* d);
/// An IP packet of the tester.
void packet_to(lockstep_device* d, const void* packet, std::size_t length);
/// The library's TCP connections.
std::vector<Listed> connections(lockstep_device* d);

}  // namespace lockstep::conformance::libslirp
