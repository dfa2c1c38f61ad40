// Queries an interface's driver: its name, queues and offloads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::hw {

// Queues in use. A combined queue serves both directions.
struct ChannelCounts {
  std::uint32_t receive = 0;
  std::uint32_t combined = 0;
  std::uint32_t send = 0;

  // The number of queues on which frames arrive, and from which they leave.
  std::uint32_t arriving() const { return receive + combined; }
  std::uint32_t leaving() const { return send + combined; }
};

// The words of `ethtool -L` for this many queues that each have both halves: "combined 2", "rx 2",
// or "rx 2 tx 2" if there are too few to send.
std::string channel_words(const ChannelCounts& now, std::uint32_t queues);

// Offloads by the driver or by the kernel; nothing if unknown.
struct Offloads {
  std::optional<bool> receive_checksum;
  std::optional<bool> send_checksum;  // checksums may be left out of frames to send
  std::optional<bool> tso;            // the driver segments TCP
  std::optional<bool> gso;            // ... or the kernel just before the driver
  std::optional<bool> gro;            // the kernel merges received segments
  std::optional<bool> lro;            // ... or the driver does
  std::optional<bool> strips_tags;    // 802.1Q tags are removed from received frames
};

// Uses SIOCETHTOOL on a socket of this process's namespace; needs no privilege. Empty, nothing or
// all unknown if the driver does not report it.
std::string driver_of(const std::string& name);
std::optional<ChannelCounts> channels_of(const std::string& name);
Offloads offloads_of(const std::string& name);

// A feature of the kernel, such as tx-checksum-ip-generic. It may be requested but inactive, if the
// driver cannot do it.
struct Feature {
  std::string name;
  bool wanted = false;
  bool active = false;
};

// All features of an interface, in the kernel's order; empty if the kernel does not report them.
std::vector<Feature> features_of(const std::string& name);
// Requests each feature as recorded, if it can be changed.
bool want_features(const std::string& name, const std::vector<Feature>& features);

}  // namespace lockstep::hw
