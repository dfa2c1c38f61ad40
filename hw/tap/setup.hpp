// Opens a TAP and sets the kernel's end of it: MTU, up, address; puts back what was there before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/stack/config.hpp"
#include "hw/poll/descriptor.hpp"
#include "hw/tap/before.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

struct TapSettings {
  std::string name;  // 1 to 15 octets, neither '/' nor blanks
  Bytes mtu{1500};
  std::vector<HostAddress> hosts;  // the kernel's own addresses; none: they stay as they are
  // Whether the kernel may leave checksums out of frames for us that never see a wire.
  bool offload_checksums = true;
  // More than one: a TAP of so many queues, of which the kernel gives a flow's frames to the one
  // from which it last heard the flow, or by the steering program where it may be loaded.
  Count queues{1};
};

// A TAP made here goes with its descriptor. One that was there before keeps its name and gets the
// everything back that it had, when this object goes: MTU, flags, addresses, offloads.
class TapInterface {
 public:
  TapInterface() = default;
  ~TapInterface() { put_back(); }
  TapInterface(const TapInterface&) = delete;
  TapInterface& operator=(const TapInterface&) = delete;

  // Opens and sets it all, or says why not and leaves nothing behind.
  [[nodiscard]] Trouble open(const TapSettings& settings);
  // What TapPort wants; once. Of several queues, each.
  Descriptor take_device() { return std::move(devices_.front()); }
  std::vector<Descriptor> take_devices() { return std::move(devices_); }
  // Whether the kernel steers as shard_of does; else why not.
  const Trouble& not_steered() const { return not_steered_; }

 private:
  Trouble attach(const TapSettings& settings);
  Trouble attach_queue(const TapSettings& settings, Descriptor& into);
  void steer(Count queues);
  Trouble configure(const TapSettings& settings);
  Trouble give_address(const HostAddress& host);
  void put_back();

  std::string name_;
  std::vector<Descriptor> devices_;
  Trouble not_steered_;
  Descriptor control_;               // a socket, for ioctl
  std::optional<TapBefore> before_;  // none: it was made here
};

}  // namespace lockstep::hw
