// A device in this process or behind a descriptor, and the calls to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "conformance/devices/peer.hpp"

namespace lockstep::conformance::compare {

/// What a host is doing, for whoever waits for it in another process.
struct HostNote {
  std::atomic<std::uint32_t> call{0};  ///< a lockstep_device_call; 0: none
};

/// A device that is asked. A crash ends this process: see contained.hpp.
class Host {
 public:
  Host() = default;
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// As DevicePeer::ask(). Throws DeviceFault, whose message names the device and the call.
  virtual DeviceAnswer ask(lockstep_device_call call, std::uint64_t first = 0,
                           std::uint64_t second = 0, std::string_view octets = {}) = 0;
  virtual std::uint64_t grain_ns() const = 0;
  /// Whether a device that is created again is as in a new process.
  virtual bool is_renewable() const = 0;
  virtual std::string_view name() const = 0;
};

/// A shared library is loaded into this process; a program gets one of its own. `note`, if there is
/// one, outlives the host. Throws Failure, or DeviceFault.
std::unique_ptr<Host> open_host(const std::filesystem::path& device, HostNote* note = nullptr);

}  // namespace lockstep::conformance::compare
