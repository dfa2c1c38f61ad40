// What the machine says that decides whether a driver works on an interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/stack/config.hpp"
#include "hw/ethtool.hpp"
#include "hw/interface.hpp"

namespace lockstep::tools {

/// Whom the kernel takes for the owner of our address, on which interface.
struct KnownNeighbour {
  std::string interface;
  Mac mac;
};

/// The other end of a veth pair.
struct PeerFacts {
  bool elsewhere = false;  ///< in another namespace: nothing is known of it
  std::string name;        ///< empty: there is none
  hw::Offloads offloads;
};

/// What stands in the way of a way to the frames: 0 or an errno.
struct SocketErrors {
  int packet_socket = 0;
  int xdp_socket = 0;
  int bpf = 0;
};

struct MemoryFacts {
  std::optional<std::uint64_t> locked_bytes_max;  ///< nothing: as much as there is
  std::uint64_t huge_pages = 0;
  std::uint64_t huge_pages_free = 0;
};

struct XdpFacts {
  std::optional<std::uint64_t> features;  ///< of linux/netdev.h; nothing: the kernel does not say
  std::uint32_t program = 0;              ///< the number of one that is there already
  bool generic = false;                   ///< it is behind the driver
};

struct DoctorFacts {
  std::string name;
  bool in_user_namespace = false;  ///< where root is not root of the machine
  std::string program_path;        ///< of this program, for setcap
  hw::InterfaceFacts interface;
  bool carrier = true;
  std::string driver;  ///< empty: unknown
  std::optional<hw::ChannelCounts> channels;
  hw::Offloads offloads;
  PeerFacts peer;
  XdpFacts xdp;
  SocketErrors socket_errors;
  MemoryFacts memory;
  std::uint32_t neighbours = 0;          ///< that the kernel knows on the interface
  std::optional<HostAddress> address;    ///< ours, if it was given
  std::optional<hw::KernelOwner> clash;  ///< who in the kernel has our address
  std::vector<KnownNeighbour> owners;
  bool forwards = false;  ///< what is not for the kernel goes on, as on a router
};

/// Looks, and changes nothing but for a socket of each kind and a map that are closed at once.
/// Throws Failure for an interface that is not there.
DoctorFacts probe(const std::string& name, const std::optional<HostAddress>& address);

}  // namespace lockstep::tools
