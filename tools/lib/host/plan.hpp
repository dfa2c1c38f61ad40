// The options of a host, checked before anything is opened.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/stack/config.hpp"
#include "hw/af_xdp/program.hpp"
#include "hw/poll/loop.hpp"
#include "hw/tap/setup.hpp"

namespace lockstep::tools {

/// Why a host cannot be opened: one line for the user.
struct HostRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class HostPort : std::uint8_t { tap, packet, xdp, table };

struct HostPlan {
  HostPort port = HostPort::table;
  std::string interface;                       ///< a TAP, or an existing interface
  hw::TapSettings tap;                         ///< for a TAP only
  hw::XdpPlace place = hw::XdpPlace::fitting;  ///< for AF_XDP only
  bool must_be_zero_copy = false;              ///< for AF_XDP only
  Config config;
  hw::LoopSettings loop;
  std::string addresses;  ///< as text, for the description
};

/// Where the options come from: for a driver of the caller's own, names of interfaces are refused.
enum class HostKind : std::uint8_t { interface, driver };

/// `options` ends with NULL. Throws HostRefused.
HostPlan host_plan_of(const char* const* options, HostKind kind);

}  // namespace lockstep::tools
