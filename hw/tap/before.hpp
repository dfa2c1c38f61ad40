// Records the settings of a TAP that existed before, and restores them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/stack/config.hpp"
#include "hw/ethtool.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {

// Settings, addresses, offloads and the frame header format.
class TapBefore {
 public:
  // Nothing: no interface has this name.
  static std::optional<TapBefore> of(const std::string& name);

  // Call once the device is attached and before it is changed. It stays attached until put_back().
  void note_device(const Descriptor& device);
  bool has_device() const { return device_.is_open(); }
  // Notes an address that we have added; it is removed again unless it was there before.
  void given(const HostAddress& address);
  void put_back();

 private:
  bool had(const HostAddress& address) const;
  void put_device_back() const;
  void put_addresses_back() const;

  std::string name_;
  int index_ = 0;
  int mtu_ = 0;
  short flags_ = 0;
  std::vector<std::vector<std::byte>> addresses_;  // as netlink reports and accepts them
  std::vector<HostAddress> given_;
  std::vector<Feature> features_;
  Descriptor device_;
  int header_bytes_ = 0;
  int little_endian_ = 0;
};

// Adds an address to the interface with this index. False: see errno.
bool add_address(int index, const HostAddress& address);

}  // namespace lockstep::hw
