// A device as the server of a simulated world, with any number of connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conformance/interop/device_node.hpp"
#include "core/units/address.hpp"

namespace lockstep::conformance {

/// A service: for each `request` octets that a client sends, `reply` octets of the stream
/// pattern_octet(pattern, position). A client that has finished gets what is due, and then the end.
struct DeviceService {
  Port port;
  std::uint32_t request = 1;
  std::uint64_t reply = 0;
  std::uint64_t pattern = 0;
};

/// IPv4 only. The device must have been created.
class DeviceServer final : public DeviceNode {
 public:
  /// Where packets go: to each neighbour by its address, all others to the gateway.
  struct Link {
    Mac own, gateway;
    std::vector<std::pair<IpAddress, Mac>> neighbours;
  };

  /// Throws DeviceFault if the device cannot listen or lacks a call.
  DeviceServer(std::unique_ptr<DevicePeer> peer, Link link,
               const std::vector<DeviceService>& services);

  Instant deadline() const override { return device_due(); }

 private:
  struct Listener {
    DeviceService service;
    std::uint64_t handle = 0;
  };
  struct Connection {
    DeviceService service;
    std::uint64_t handle = 0;
    std::uint64_t received = 0, sent = 0;
    bool peer_finished = false;
  };

  void take(sim::StationDesk& desk, std::span<const std::byte> frame) override;
  void work_at_deadline(sim::StationDesk& desk) override;
  void put(sim::StationDesk& desk, const DeviceAnswer& answer) override;
  void work();
  bool serve(Connection& connection);
  bool read(Connection& connection);
  bool write(Connection& connection);

  Link link_;
  Instant worked_{0};
  std::vector<Listener> listeners_;
  std::vector<Connection> connections_;
};

}  // namespace lockstep::conformance
