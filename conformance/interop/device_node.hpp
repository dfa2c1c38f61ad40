// A device as a node of a simulated world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "conformance/devices/peer.hpp"
#include "sim/kernel/station.hpp"

namespace lockstep::conformance {

/// What all stations with a device share. The simulator is compiled without exceptions, so what a
/// device's calls throw does not leave the station: it becomes fault(), and the kernel stops.
class DeviceNode : public sim::Station {
 public:
  void arrived(sim::StationDesk& desk, std::span<const std::byte> frame) final;
  void run(sim::StationDesk& desk) final;
  std::string_view fault() const final { return fault_; }
  /// A device cannot be copied: CHECKs.
  std::unique_ptr<Station> clone() const final;

 protected:
  /// `peer` may be set later, before the first call.
  explicit DeviceNode(std::unique_ptr<DevicePeer> peer) : peer_(std::move(peer)) {}

  // These may throw DeviceFault or tools::Failure.
  virtual void take(sim::StationDesk& desk, std::span<const std::byte> frame) = 0;
  virtual void work_at_deadline(sim::StationDesk& desk) = 0;
  /// Sends the packets of an answer.
  virtual void put(sim::StationDesk& desk, const DeviceAnswer& answer) = 0;

  DeviceAnswer ask(lockstep_device_call call, std::uint64_t first = 0, std::uint64_t second = 0,
                   std::string_view octets = {});
  /// Runs the device up to this instant and sends what it sends.
  void go_to(sim::StationDesk& desk);
  /// When the device is due; never: only a packet or a call makes it do something.
  Instant device_due() const;
  /// Calls it; what it throws becomes fault(). After a fault: does nothing.
  void contain(const std::function<void()>& call);

  std::unique_ptr<DevicePeer> peer_;

 private:
  std::string fault_;
  std::uint64_t due_ = LOCKSTEP_DEVICE_NEVER;
};

}  // namespace lockstep::conformance
