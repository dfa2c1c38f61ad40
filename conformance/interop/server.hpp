// A device as the server of a simulated world, with any number of connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conformance/devices/peer.hpp"
#include "core/units/address.hpp"
#include "sim/kernel/station.hpp"

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
class DeviceServer final : public sim::Station {
 public:
  /// Where packets go: to each neighbour by its address, all others to the gateway.
  struct Link {
    Mac own, gateway;
    std::vector<std::pair<IpAddress, Mac>> neighbours;
  };

  /// Throws DeviceFault if the device cannot listen or lacks a call.
  DeviceServer(std::unique_ptr<DevicePeer> peer, Link link,
               const std::vector<DeviceService>& services);

  void arrived(sim::StationDesk& desk, std::span<const std::byte> frame) override;
  void run(sim::StationDesk& desk) override;
  Instant deadline() const override;
  /// A device cannot be copied: CHECKs.
  std::unique_ptr<Station> clone() const override;

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

  void go_to(sim::StationDesk& desk);
  void put(sim::StationDesk& desk, const DeviceAnswer& answer);
  void work();
  bool serve(Connection& connection);
  bool read(Connection& connection);
  bool write(Connection& connection);
  DeviceAnswer ask(lockstep_device_call call, std::uint64_t first = 0, std::uint64_t second = 0,
                   std::string_view octets = {});

  std::unique_ptr<DevicePeer> peer_;
  Link link_;
  std::uint64_t due_ = 0;  ///< of the device
  Instant worked_{0};
  std::vector<Listener> listeners_;
  std::vector<Connection> connections_;
};

}  // namespace lockstep::conformance
