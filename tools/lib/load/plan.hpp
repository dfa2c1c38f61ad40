// What a load is: to whom, what is asked for, how often, by how many, for how long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/time.hpp"

namespace lockstep::load {

/// http: GET of a path. echo: octets that come back as they are. memcached: its text protocol.
enum class Protocol : std::uint8_t { http, echo, memcached };

/// Who closes a connection whose last answer has come: we wait for the server's FIN; we send ours
/// first, and keep the TIME-WAIT; or we reset it, and nobody does.
enum class CloseMode : std::uint8_t { server, client, reset };

/// Where requests go: connections take them in turn.
struct Target {
  Endpoint endpoint;
  std::string authority;  ///< of HTTP's Host field
};

/// One thing that can be asked for.
struct Item {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  std::string name;                ///< a path; a key
  std::uint64_t length = unknown;  ///< of the answer's body, where that is known
  bool is_pattern = false;         ///< the body is the site's pattern, from its first octet on
  std::string text = {};           ///< not empty: the body is this
};

/// What is asked for, and how often of each: item i is drawn `weights[i]` times in their sum.
struct Catalogue {
  std::vector<Item> items;
  std::vector<std::uint32_t> weights;  ///< empty: all alike
};

/// So many of the users pause so long before each request but the first. The rest do not pause.
struct Pause {
  std::uint32_t users_percent = 0;
  Duration think;
};

struct Plan {
  Protocol protocol = Protocol::http;
  std::vector<Target> targets;
  std::vector<IpAddress> sources;           ///< ours to call from, in turn; none: by the route
  Catalogue catalogue;                      ///< of http and memcached
  std::optional<std::uint64_t> upload;      ///< of http: PUT so much of the pattern, not GET
  Bytes message{64};                        ///< of echo, and of what memcached is given to keep
  std::uint32_t updates_percent = 0;        ///< of memcached's requests
  std::uint32_t connections = 1;            ///< at once, at most
  std::uint32_t connecting_max = 256;       ///< of them between SYN and ESTABLISHED at once
  std::uint64_t connects_a_second = 0;      ///< new ones at most; 0: no bound
  std::uint32_t requests_a_connection = 0;  ///< 0: no bound
  std::uint32_t pipeline = 1;               ///< requests on a connection that wait for an answer
  std::uint64_t rate = 0;                   ///< requests a second on schedule; 0: a closed loop
  bool is_poisson = false;                  ///< the schedule: exponential pauses, or all alike
  std::uint32_t silent_percent = 0;         ///< of the users: they connect and say nothing
  Pause slow;                               ///< of the users that are not silent
  Duration think;                           ///< of the others, before each request but the first
  CloseMode close_mode = CloseMode::server;
  std::uint64_t requests = 0;                 ///< to be measured; 0: by the time
  Duration duration = Duration::seconds(10);  ///< of what is measured, if `requests` is 0
  Duration warm_up;                           ///< before that
  Duration timeout = Duration::seconds(10);   ///< of a connect, and of a request
  Duration time_wait;                         ///< of our stack; 0: its own
  std::uint64_t seed = 1;
};

/// Habits are spread evenly, so that whatever part of the users stands has its share of each: a
/// user has the habit in whose percent of the hundred this lies.
constexpr std::uint32_t hundredth_of(std::uint32_t user) { return user % 100 * 37 % 100; }

/// How many of the users say nothing.
constexpr std::uint32_t silent_of(const Plan& plan) {
  std::uint32_t out = plan.connections / 100 * plan.silent_percent;
  for (std::uint32_t user = 0; user < plan.connections % 100; ++user) {
    out += hundredth_of(user) < plan.silent_percent ? 1 : 0;
  }
  return out;
}

}  // namespace lockstep::load
