// What an interface's driver says of itself: its name, its queues, its offloads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::hw {

// Queues in use. A queue of both directions is a combined one.
struct ChannelCounts {
  std::uint32_t receive = 0;
  std::uint32_t combined = 0;

  // Over how many queues frames arrive.
  std::uint32_t arriving() const { return receive + combined; }
};

// What the driver, or the kernel in its place, does to frames; nothing where nobody says.
struct Offloads {
  std::optional<bool> receive_checksum;
  std::optional<bool> send_checksum;  // it may be left out of frames that are sent
  std::optional<bool> tso;            // TCP segments are cut by the driver
  std::optional<bool> gso;            // ... or just before it
  std::optional<bool> gro;            // segments that arrive are put together by the kernel
  std::optional<bool> lro;            // ... or by the driver
  std::optional<bool> strips_tags;    // 802.1Q tags are taken off frames
};

// By SIOCETHTOOL on a socket of this process's namespace; no rights are needed. Empty, nothing or
// all unknown where the driver does not say.
std::string driver_of(const std::string& name);
std::optional<ChannelCounts> channels_of(const std::string& name);
Offloads offloads_of(const std::string& name);

// One of the many that the kernel knows, like tx-checksum-ip-generic. It may be wanted and not be,
// where the driver cannot.
struct Feature {
  std::string name;
  bool wanted = false;
  bool active = false;
};

// All of an interface, in the kernel's order; none where it does not say.
std::vector<Feature> features_of(const std::string& name);
// Wants each as it says, of those that can be changed.
bool want_features(const std::string& name, const std::vector<Feature>& features);

}  // namespace lockstep::hw
