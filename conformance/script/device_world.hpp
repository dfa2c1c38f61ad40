// A device under a script: another TCP, in a process of its own.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/devices/peer.hpp"
#include "conformance/script/world.hpp"

namespace lockstep::conformance::script {

class DeviceCalls;

/// A device of conformance/devices/device.h. What it does not have throws LeftOut; if it breaks the
/// interface, every function throws DeviceFault.
class DeviceWorld final : public World {
 public:
  DeviceWorld(const Plan& plan, const std::filesystem::path& device);
  ~DeviceWorld() override;

  Instant now() const override { return now_; }
  bool settle() override;
  bool advance(Instant until) override;
  void go_to(Instant at) override;
  void inject(std::vector<std::byte> packet) override;
  SocketCalls& calls() override;
  std::optional<tcp::State> state_of(const Endpoint& local, const Endpoint& remote) override;
  std::optional<lockstep_tcp_info> info_of(int) override { return std::nullopt; }
  const Config& config() const override { return config_; }
  void reconfigure(const Config& config) override;
  bool has_info() const override { return false; }
  bool is_ours() const override { return false; }
  Duration tolerance(Duration passed) const override;

  /// A call by its program; what it sends comes with the next settle().
  DeviceAnswer ask(lockstep_device_call call, std::uint64_t first = 0, std::uint64_t second = 0,
                   std::string_view octets = {});
  /// Whether it has an optional call.
  bool can(std::string_view call) const;
  /// A variable of a connection, or a number below 0 as of device.h.
  std::int64_t try_get(std::uint64_t connection, std::string_view name);
  /// Sets it if the device can.
  void try_set(std::uint64_t connection, std::string_view name, std::int64_t value);
  std::optional<tcp::State> state_between(Port local, Port remote);
  /// Writes the device's own address, or the tester's, with a port.
  void put_name(bool own, Port port, sockaddr* name, socklen_t* length) const;
  /// Whether a name has the device's own address or none, or the tester's.
  bool is_local(const sockaddr* name) const;
  bool is_remote(const sockaddr* name) const;
  /// The remote port of the next connection that arrived at a port.
  Port next_caller(Port local);

 private:
  void create(const Plan& plan);
  bool take(const DeviceAnswer& answer);

  DevicePeer peer_;
  Config config_;
  IpAddress local_, remote_;
  Instant now_ = origin;
  struct Caller {
    Port local, remote;
  };
  std::vector<Caller> callers_;  ///< of SYNs, in the order in which they arrived
  std::unique_ptr<DeviceCalls> calls_;
};

}  // namespace lockstep::conformance::script
