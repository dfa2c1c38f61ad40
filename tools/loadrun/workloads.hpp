// The workloads by their names: one table of plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/bytes.hpp"
#include "core/units/time.hpp"
#include "tools/load/plan.hpp"

namespace lockstep::tools {

/// What is asked for where a workload does not say it by its protocol alone.
enum class Asking : std::uint8_t { the_url, messages };

struct Workload {
  std::string_view id;
  std::string_view what;         ///< for --help and the report
  load::Protocol protocol = load::Protocol::http;
  Asking asking = Asking::the_url;
  std::uint32_t connections = 1;
  std::uint32_t requests_a_connection = 0;
  load::Farewell farewell = load::Farewell::server;
  Bytes message{64};
};

inline constexpr std::array<Workload, 1> workloads{{
    {.id = "pingpong64",
     .what = "connect, 64 octets there and back, close (mTCP, NSDI 2014)",
     .protocol = load::Protocol::echo,
     .asking = Asking::messages,
     .connections = 64,
     .requests_a_connection = 1,
     .farewell = load::Farewell::client,
     .message = Bytes{64}},
}};

/// nullptr: there is none of that name.
constexpr const Workload* workload_named(std::string_view id) {
  for (const Workload& each : workloads) {
    if (each.id == id) {
      return &each;
    }
  }
  return nullptr;
}

}  // namespace lockstep::tools
