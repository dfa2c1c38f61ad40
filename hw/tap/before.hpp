// What a TAP that was there before us was like, and putting it back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/stack/config.hpp"
#include "hw/ethtool.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {

// Settings, addresses, offloads, and how its frames' headers are.
class TapBefore {
 public:
  // Nothing: there is no interface of this name.
  static std::optional<TapBefore> of(const std::string& name);

  // Once it is attached, and before it is set. It stays attached until it is put back.
  void note_device(const Descriptor& device);
  bool has_device() const { return device_.is_open(); }
  // We have given it this address; unless it had it already, it goes again.
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
  std::vector<std::vector<std::byte>> addresses_;  // as netlink tells them, and takes them again
  std::vector<HostAddress> given_;
  std::vector<Feature> features_;
  Descriptor device_;
  int header_bytes_ = 0;
  int little_endian_ = 0;
};

// Gives the interface of this number an address beside those that it has. False: errno says why.
bool add_address(int index, const HostAddress& address);

}  // namespace lockstep::hw
