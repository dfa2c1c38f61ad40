// A device in a process of its own, and the requests to it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/devices/program.h"

namespace lockstep::conformance {

/// The device broke its interface, ended, or did not answer. The message is one line that names the
/// device and the call.
class DeviceFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The answer to a call. Instants are nanoseconds of the device's clock.
struct DeviceAnswer {
  std::int64_t result = 0;  ///< below 0: LOCKSTEP_DEVICE_...
  std::uint64_t now = 0;    ///< after the call
  std::uint64_t deadline = LOCKSTEP_DEVICE_NEVER;
  std::vector<std::vector<std::byte>> packets;  ///< all sent at `now`
  std::string octets;                           ///< what was read, or why the result is below 0
};

/// What a device says of itself.
struct DeviceAbout {
  std::string name, stack;
  std::set<std::string, std::less<>> abilities, calls;
  std::uint64_t timer_grain = 1;  ///< ns
  std::uint64_t timer_late = 0;   ///< thousandths of a timer's duration
};

/// The name of a call in messages, as "listen".
std::string_view name_of(lockstep_device_call call);

/// Starts a device, a shared library in a fork of this process or a program, and asks it. A device
/// that crashes or hangs therefore ends no run. Not for two threads at once.
class DevicePeer {
 public:
  /// `path` as device_path() returns it; `patience` is how long an answer may take, by the clock
  /// on the wall, and a second more for each 20,000 s that the device is to advance. Throws Failure
  /// (bad_input) if it cannot be loaded or run, else DeviceFault.
  explicit DevicePeer(const std::filesystem::path& path,
                      std::chrono::milliseconds patience = std::chrono::seconds(20));
  /// Ends the process.
  ~DevicePeer();
  DevicePeer(const DevicePeer&) = delete;
  DevicePeer& operator=(const DevicePeer&) = delete;

  const DeviceAbout& about() const { return about_; }

  /// Makes a call, as program.h describes it. Throws DeviceFault.
  DeviceAnswer ask(lockstep_device_call call, std::uint64_t first = 0, std::uint64_t second = 0,
                   std::string_view octets = {});

 private:
  void start(const std::filesystem::path& path);
  void stop();
  void learn();
  void write(lockstep_device_call call, std::string_view bytes);
  std::string read(lockstep_device_call call, std::size_t length);
  void wait_for(lockstep_device_call call, short events);
  [[noreturn]] void fault(lockstep_device_call call, const std::string& what) const;
  [[noreturn]] void ended(lockstep_device_call call);
  std::string last_line() const;

  std::string name_;
  std::chrono::milliseconds patience_;
  std::chrono::milliseconds allowed_{};  ///< for the present call
  std::chrono::steady_clock::time_point until_;
  pid_t process_ = -1;
  int socket_ = -1;
  int printed_ = -1;  ///< what it writes to its standard error
  std::uint64_t now_ = 0;
  DeviceAbout about_;
};

}  // namespace lockstep::conformance
