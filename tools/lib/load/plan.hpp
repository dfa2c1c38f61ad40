// What a load does: its targets, requests, rates, number of users and duration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/time.hpp"

namespace lockstep::load {

/// http: GET of a path. echo: octets that come back unchanged. memcached: its text protocol.
enum class Protocol : std::uint8_t { http, echo, memcached };

/// Who closes a connection after its last response. server: we wait for the server's FIN. client:
/// we send our FIN first and enter TIME-WAIT. reset: we reset it, so no side enters TIME-WAIT.
enum class CloseMode : std::uint8_t { server, client, reset };

/// Where requests go; connections use the targets in turn.
struct Target {
  Endpoint endpoint;
  std::string authority;  ///< for HTTP's Host field
};

/// One thing that can be requested.
struct Item {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  std::string name;                ///< a path; a key
  std::uint64_t length = unknown;  ///< of the response's body, if known
  bool is_pattern = false;         ///< the body is the site's pattern from its first octet on
  std::string text = {};           ///< if not empty, the body
};

/// The items, drawn at random: item i with probability weights[i] / sum of weights.
struct Catalogue {
  std::vector<Item> items;
  std::vector<std::uint32_t> weights;  ///< empty: all equal
};

/// This share of the users pauses for `think` before each request except the first; the others do
/// not.
struct Pause {
  std::uint32_t users_percent = 0;
  Duration think;
};

struct LoadPlan {
  Protocol protocol = Protocol::http;
  std::vector<Target> targets;
  std::vector<IpAddress> sources;           ///< ours, used in turn; empty: chosen by route
  Catalogue catalogue;                      ///< of http and memcached
  std::optional<std::uint64_t> upload;      ///< of http: PUT this many octets, no GET
  Bytes message{64};                        ///< length of an echo message, or of a memcached value
  std::uint32_t updates_percent = 0;        ///< share of memcached's requests that are sets
  std::uint32_t connections = 1;            ///< open at once, at most
  std::uint32_t connecting_max = 256;       ///< of these, between SYN and ESTABLISHED at once
  std::uint64_t connects_a_second = 0;      ///< new connections a second at most; 0: no limit
  std::uint32_t requests_a_connection = 0;  ///< 0: no limit
  std::uint32_t pipeline = 1;               ///< unanswered requests on a connection
  std::uint64_t rate = 0;                   ///< scheduled requests a second; 0: a closed loop
  bool is_poisson = false;                  ///< intervals are exponential, not equal
  std::uint32_t silent_percent = 0;         ///< of the users: they connect and send nothing
  Pause slow;                               ///< of the users that are not silent
  Duration think;                           ///< of the others, likewise
  CloseMode close_mode = CloseMode::server;
  std::uint64_t requests = 0;                 ///< to be measured; 0: limited by `duration`
  Duration duration = Duration::seconds(10);  ///< of the measurement, if `requests` is 0
  Duration warm_up;                           ///< before the measurement
  Duration timeout = Duration::seconds(10);   ///< of a connection attempt, and of a request
  Duration time_wait;                         ///< TIME-WAIT of our stack; 0: the stack's own
  std::uint64_t seed = 1;
};

/// Permutes users modulo 100, so that any range of users has its share of each habit. A user has
/// the habit whose percentage range contains this number.
constexpr std::uint32_t hundredth_of(std::uint32_t user) { return user % 100 * 37 % 100; }

/// The number of silent users.
constexpr std::uint32_t silent_of(const LoadPlan& plan) {
  std::uint32_t out = plan.connections / 100 * plan.silent_percent;
  for (std::uint32_t user = 0; user < plan.connections % 100; ++user) {
    out += hundredth_of(user) < plan.silent_percent ? 1 : 0;
  }
  return out;
}

}  // namespace lockstep::load
