// The calls that Python makes on a stack, alone or in a world: the application's and the
// observer's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stack/stack.hpp"

namespace lockstep::tools {
class Sockets;
}

namespace lockstep::tools::python {

using Packet = std::span<const std::byte>;

/// `more`: more data follows at once. `record`: the data written ends a record.
constexpr More more_of(bool more, bool record) {
  return record ? more ? More::record_and_more : More::record : more ? More::yes : More::no;
}

/// An event and when it was delivered.
struct TimedEvent {
  Instant at;
  Event event;
};

/// Events and accepted connections not yet taken, and the endpoints of each slot's last connection.
/// A plain value: a copy is a snapshot.
struct Inbox {
  /// Events kept until they are taken; beyond this the oldest is dropped and counted.
  static constexpr std::uint32_t events_max = 65'536;

  struct Known {
    std::uint32_t generation = 0;
    FourTuple tuple;
  };

  void on_event(Stack& stack, const TimedEvent& event);
  void run(Stack& stack);
  void learn(const Stack& stack, ConnectionId id);
  /// A snapshot cannot hold sockets: throws Failure if there are any.
  void refuse_sockets() const;

  std::deque<TimedEvent> events;      ///< in order
  std::deque<ConnectionId> accepted;  ///< in order
  std::uint64_t events_lost = 0;
  std::map<std::uint32_t, Known> known;  ///< by slot
  Sockets* sockets = nullptr;            ///< if set, events go there instead
};

/// The setting of this name; if there is none, throws Failure listing all names.
SettingKind setting_named(std::string_view name);

/// The variables of a connection that a test may read, by their names in Python; sequence numbers
/// as on the wire, sizes in octets, times in nanoseconds.
std::array<std::pair<std::string_view, std::uint64_t>, 12> variables_of(const ConnectionInfo& info);

/// The calls of Stack. A refusal is thrown as `Refused`.
class Calls {
 public:
  virtual ~Calls() = default;

  virtual Stack& stack() = 0;
  virtual Inbox& inbox() = 0;
  /// The application has called the stack, which needs a turn.
  virtual void touched() {}
  /// A connection was opened.
  virtual void opened(ConnectionId) {}

  ConnectionId connect(const Open& open);
  /// The state of a connection: TIME-WAIT or CLOSED if it is over, nothing if it never existed.
  std::optional<tcp::State> state(ConnectionId id);
  /// The next unread bytes, at most `most`; they are consumed unless `peek`.
  std::vector<std::byte> read(ConnectionId id, Bytes most, bool peek);
};

}  // namespace lockstep::tools::python
