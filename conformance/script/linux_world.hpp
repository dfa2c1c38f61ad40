// The kernel of Linux under a script: its own calls and sysctls, in virtual time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/devices/linux/guest.hpp"
#include "conformance/script/world.hpp"

namespace lockstep::conformance::script {

class LinuxCalls;

/// The system that profile linux imitates. Scripts of that profile run on it as they are: commands
/// set its sysctls, calls are its own, and windows, PSH and tcp_info are compared. What cannot be
/// passed to it throws LeftOut; if the kernel ends, every function throws DeviceFault.
class LinuxWorld final : public World {
 public:
  LinuxWorld(const Plan& plan, const std::string& library);
  ~LinuxWorld() override;

  Instant now() const override { return now_; }
  bool settle() override;
  bool advance(Instant until) override;
  void go_to(Instant at) override;
  void inject(std::vector<std::byte> packet) override;
  SocketCalls& calls() override;
  std::optional<tcp::State> state_of(const Endpoint& local, const Endpoint& remote) override;
  std::optional<lockstep_tcp_info> info_of(int fd) override;
  const Config& config() const override { return config_; }
  void reconfigure(const Config&) override {}
  bool take_settings(const std::vector<Assignment>& settings) override;
  bool is_ours() const override { return false; }
  bool is_original() const override { return true; }
  Duration tolerance(Duration passed) const override;

  /// A call of the kernel; what it sends comes with the next settle().
  guest::Result ask(guest::Call which, std::initializer_list<std::int64_t> numbers = {},
                    std::string_view octets = {});

 private:
  void set(const Assignment& one);
  bool take();

  Config config_;
  std::unique_ptr<guest::Guest> guest_;
  std::uint64_t shift_ = 0;  ///< the script's time less the kernel's
  Instant now_ = origin;
  std::unique_ptr<LinuxCalls> calls_;
};

}  // namespace lockstep::conformance::script
