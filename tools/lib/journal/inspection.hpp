// What a replay shows on the way: which connections there are, and what each of them is at.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/stack/stack.hpp"

namespace lockstep::journal {

/// An application, and the connections that it was told of: the core names its connections to no
/// one else. One that a snapshot brought is known from its first event on.
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

  /// Those that still exist, by slot.
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

/// A row a connection; octets and times with their units in the head. Folded to `width` columns;
/// 0: not folded.
std::string table_of(const std::vector<ConnectionInfo>& connections, std::size_t width);
/// An array of the same, times in nanoseconds.
nlohmann::ordered_json json_of(const std::vector<ConnectionInfo>& connections);

}  // namespace lockstep::journal
