// Opens a TAP and sets the kernel's end: MTU, up, address; restores the earlier settings
// afterwards.
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
  std::string name;  // 1 to 15 octets without '/' and white space
  Bytes mtu{1500};
  std::vector<HostAddress> hosts;  // the kernel's addresses; empty: unchanged
  // Whether the kernel may leave checksums out of frames to us, which never reach a wire.
  bool offload_checksums = true;
  // With more than one, a TAP of this many queues. The steering program selects a flow's queue if
  // it can be loaded; otherwise the kernel uses the queue from which it last received the flow.
  Count queues{1};
};

// A TAP made here is deleted with its descriptor. One that existed before keeps its name, and gets
// its MTU, flags, addresses and offloads back when this object is destroyed.
class TapInterface {
 public:
  TapInterface() = default;
  ~TapInterface() { put_back(); }
  TapInterface(const TapInterface&) = delete;
  TapInterface& operator=(const TapInterface&) = delete;

  // Opens and sets everything; on failure returns the reason and leaves nothing behind.
  [[nodiscard]] Trouble open(const TapSettings& settings);
  // The descriptors for TapPort, one for each queue; may be called once.
  Descriptor take_device() { return std::move(devices_.front()); }
  std::vector<Descriptor> take_devices() { return std::move(devices_); }
  // No trouble if the kernel steers as shard_of does, otherwise the reason why not.
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
  Descriptor control_;               // a socket for ioctl
  std::optional<TapBefore> before_;  // nothing if the interface was made here
};

}  // namespace lockstep::hw
