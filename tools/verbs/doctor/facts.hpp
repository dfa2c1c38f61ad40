// Facts about the machine that decide whether a driver works on an interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/stack/config.hpp"
#include "hw/ethtool.hpp"
#include "hw/interface.hpp"

namespace lockstep::tools {

/// A neighbour entry of the kernel for our address, and its interface.
struct KnownNeighbour {
  std::string interface;
  Mac mac;
};

/// The other end of a veth pair.
struct PeerFacts {
  bool elsewhere = false;  ///< in another namespace, so nothing is known about it
  std::string name;        ///< empty: no other end
  hw::Offloads offloads;
};

/// The errno of opening each kind of socket and of a bpf(2) map; 0: it can be opened.
struct SocketErrors {
  int packet_socket = 0;
  int xdp_socket = 0;
  int bpf = 0;
};

struct MemoryFacts {
  std::optional<std::uint64_t> locked_bytes_max;  ///< nothing: unlimited
  std::uint64_t huge_pages = 0;
  std::uint64_t huge_pages_free = 0;
};

struct XdpFacts {
  std::optional<std::uint64_t>
      features;  ///< NETDEV_XDP_ACT_* of linux/netdev.h; nothing: the kernel does not report them
  std::uint32_t program = 0;  ///< id of an attached program; 0: none
  bool generic = false;       ///< attached in generic mode
};

struct DoctorFacts {
  std::string name;
  bool in_user_namespace = false;  ///< root there has no rights over the machine
  std::string program_path;        ///< path of this program, for setcap
  hw::InterfaceFacts interface;
  bool carrier = true;
  std::string driver;  ///< empty: unknown
  std::optional<hw::ChannelCounts> channels;
  hw::Offloads offloads;
  PeerFacts peer;
  XdpFacts xdp;
  SocketErrors socket_errors;
  MemoryFacts memory;
  std::uint32_t neighbours = 0;        ///< entries in the kernel's neighbour table of the interface
  std::optional<HostAddress> address;  ///< the address that the stack will use, if given
  std::optional<hw::KernelOwner>
      clash;  ///< the interface or route of the kernel that has our address
  std::vector<KnownNeighbour> owners;
  std::optional<Mac> wire_owner;  ///< the host on the wire that answered for our IPv4 address
  bool forwards = false;          ///< IP forwarding is on for the interface
};

/// Reads the facts. Opens a socket of each kind and a map, and closes them at once; asks the wire
/// who has an IPv4 address, by three ARP probes; changes nothing else. Throws Failure if the
/// interface does not exist.
DoctorFacts probe(const std::string& name, const std::optional<HostAddress>& address);

}  // namespace lockstep::tools
