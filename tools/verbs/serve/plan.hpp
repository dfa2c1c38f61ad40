// The plan of a serve run, checked before anything is opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/stack/config.hpp"
#include "core/units/shard.hpp"
#include "hw/af_xdp/program.hpp"
#include "hw/poll/loop.hpp"
#include "hw/shards/affinity.hpp"
#include "hw/tap/setup.hpp"
#include "tools/base/process/privileges.hpp"
#include "tools/lib/http/server.hpp"
#include "tools/lib/http/site.hpp"
#include "tools/lib/journal/flight_recorder.hpp"
#include "tools/verbs/serve/capture.hpp"
#include "tools/verbs/serve/serve.hpp"

namespace lockstep::tools {

enum class PortKind : unsigned char { tap, packet, xdp };

struct ServePlan {
  std::string role;       ///< like "serve http"
  std::string control;    ///< path of the control socket; empty: the default; "none": no socket
  std::string interface;  ///< a TAP, or an existing interface
  PortKind port = PortKind::tap;
  hw::TapSettings tap;                         ///< for a TAP only
  hw::XdpPlace place = hw::XdpPlace::fitting;  ///< for AF_XDP only
  bool must_be_zero_copy = false;              ///< for AF_XDP only
  Config config;                               ///< of each shard, except its number
  http::ServerSettings server;
  hw::LoopSettings loop;
  CaptureSettings capture;
  std::optional<RunAs> user;  ///< to change to once all is open
  bool confined = true;       ///< only the system calls of served_calls() from then on
  std::optional<Endpoint> metrics;
  std::optional<journal::Troubles>
      record_on;  ///< none: everything is recorded, if --record is given
  ShardCount shards;
  std::vector<hw::Cpu> cpus;  ///< of each shard; empty: not pinned

  Config config_of(ShardId shard) const {
    Config mine = config;
    mine.tcp.shard = Count{shard.value};
    return mine;
  }
};

/// Throws Failure (bad input) for options that contradict each other or the machine, or are out of
/// range.
ServePlan plan_of(const ServeOptions& options);

}  // namespace lockstep::tools
