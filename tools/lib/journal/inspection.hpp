// Lists the connections during a replay, with the state of each.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/stack/stack.hpp"

namespace lockstep::journal {

/// Wraps an application and records the ids of its connections, which the core reports only in
/// events. A connection restored from a snapshot is known after its first event.
template <class App>
class Watched {
 public:
  explicit Watched(App& app) : app_(app) {}

  // An Application (core/stack/turn.hpp).
  void on_event(Stack& stack, const Event& event) {
    told_of_[event.id.slot] = event.id.generation;
    app_.on_event(stack, event);
  }
  void run(Stack& stack, Instant now) { app_.run(stack, now); }

  /// The connections that still exist, by slot.
  std::vector<ConnectionInfo> connections(const Stack& stack) const {
    std::vector<ConnectionInfo> out;
    for (auto const& [slot, generation] : told_of_) {
      if (ConnectionInfo const info = stack.inspect({slot, generation}); info.exists) {
        out.push_back(info);
      }
    }
    return out;
  }

 private:
  App& app_;
  std::map<std::uint32_t, std::uint32_t> told_of_;  // generation by slot
};

/// One row for each connection; the heading gives the units of octets and times. Folded to `width`
/// columns; 0: not folded.
std::string table_of(const std::vector<ConnectionInfo>& connections, std::size_t width);
/// The same as an array, times in nanoseconds.
nlohmann::ordered_json json_of(const std::vector<ConnectionInfo>& connections);

}  // namespace lockstep::journal
