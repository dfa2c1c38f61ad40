// What a control socket sends: JSON, one line for each connection.
#pragma once

#include <string>

#include "core/stack/stack.hpp"
#include "core/units/shard.hpp"

namespace lockstep::control {

/// What a client sends to get the list.
inline constexpr const char* list_request = "list\n";

/// Who answers, in the first line of a list.
struct Identity {
  std::string role;  ///< like "serve http"
  std::string interface;
  ShardCount shards;
};

/// All lines end with a newline.
std::string head_line(const Identity& who);
/// Times are in nanoseconds. Timers count from `now`.
std::string connection_line(const ConnectionInfo& info, ShardId shard, Instant now);
/// The last line, so that a list that was cut off is known.
std::string end_line(std::uint64_t connections);
std::string error_line(const std::string& text);

}  // namespace lockstep::control
