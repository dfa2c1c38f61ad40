// What addresses a host may have, and what else a stack on an interface needs; also for `serve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/stack/config.hpp"

namespace lockstep::tools {

/// The largest MTU; a loopback interface reports a larger one, which no Ethernet frame carries.
inline constexpr std::uint32_t interface_mtu_max = 65'000;

/// Why a host cannot have that address; empty: it can.
std::string_view unfit_address(const HostAddress& ours);

/// Whether `other` is in the network of `ours`.
bool same_network(const HostAddress& ours, const IpAddress& other);

/// The pools for that many connections, each with a request that is read and an answer.
void size_pools(tcp::Config& tcp, Count connections);

/// Draws each key, and a link address if there is none yet, which is marked as locally
/// administered: from the system's entropy, or from the seed, which anybody could guess. False: the
/// system gives no entropy.
[[nodiscard]] bool draw_secrets(const std::optional<std::uint64_t>& seed, Config& config);

/// A seed in decimal.
std::optional<std::uint64_t> parse_seed(std::string_view text);

}  // namespace lockstep::tools
