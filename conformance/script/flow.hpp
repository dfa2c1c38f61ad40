// The connection under test: whose numbers of the script stand for which on the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/script/syntax.hpp"
#include "core/units/address.hpp"
#include "core/units/time.hpp"

namespace lockstep::conformance::script {

/// The peer's sequence numbers and stamps are the script's. Those of the stack are not: its initial
/// sequence number and its first stamp are known when they have been sent.
struct Flow {
  Endpoint local, remote;
  bool local_known = false;  ///< of an active open: the port has been drawn
  bool opening = true;       ///< the next SYN that leaves says where its numbers begin
  std::uint32_t shift = 0;   ///< live number = script's number + shift
  std::uint32_t last_sent = 0;  ///< the live sequence number of the last segment that left
  struct Stamp {
    std::uint32_t script = 0, live = 0;
  };
  std::vector<Stamp> stamps;  ///< that have left

  std::uint32_t to_live(std::uint32_t script) const { return script + shift; }
  std::uint32_t to_script(std::uint32_t live) const { return live - shift; }
  /// Of an echo; one that never left is moved as the first stamp was.
  std::uint32_t stamp_to_live(std::uint32_t script) const {
    for (auto one = stamps.rbegin(); one != stamps.rend(); ++one) {
      if (one->script == script) {
        return one->live;
      }
    }
    return stamps.empty() ? script : script + stamps.front().live - stamps.front().script;
  }
};

}  // namespace lockstep::conformance::script
