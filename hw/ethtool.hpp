// What an interface's driver says of itself: its name, its queues, its offloads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

}  // namespace lockstep::hw
