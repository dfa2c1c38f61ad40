// What Python may ask of a stack, wherever it runs: the application's calls and the observer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack/stack.hpp"

namespace lockstep::tools {
class Sockets;
}

namespace lockstep::tools::python {

using Packet = std::span<const std::byte>;

/// Whether more follows at once, and whether what is taken ends a record.
constexpr More more_of(bool more, bool record) {
  return record ? more ? More::record_and_more : More::record : more ? More::yes : More::no;
}

/// An event and when it was told.
struct Told {
  Instant at;
  Event event;
};

/// What was told and nobody has taken yet, and whom each slot's last connection joined. A plain
/// value: a copy is a snapshot.
struct Inbox {
  /// Events that wait to be taken; then the oldest is forgotten and counted.
  static constexpr std::uint32_t events_max = 65'536;

  struct Known {
    std::uint32_t generation = 0;
    FourTuple tuple;
  };

  void on_event(Stack& stack, const Told& event);
  void run(Stack& stack);
  void learn(const Stack& stack, ConnectionId id);
  /// A snapshot cannot hold sockets: throws Failure if there are any.
  void refuse_sockets() const;

  std::deque<Told> events;            ///< in order
  std::deque<ConnectionId> accepted;  ///< in order
  std::uint64_t events_lost = 0;
  std::map<std::uint32_t, Known> known;  ///< by slot
  Sockets* sockets = nullptr;            ///< who is told instead, if there are any
};

/// The setting of this name; throws Failure, which lists them all, if there is none.
SettingKind setting_named(std::string_view name);

/// The calls of Stack. A refusal is thrown as `Refused`.
class Calls {
 public:
  virtual ~Calls() = default;

  virtual Stack& stack() = 0;
  virtual Inbox& inbox() = 0;
  /// The application has called the stack: it wants a turn.
  virtual void touched() {}
  /// A connection was opened.
  virtual void opened(ConnectionId) {}

  ConnectionId connect(const Open& open);
  /// Where it is: of one that is over TIME-WAIT or CLOSED. Nothing: there was never such a one.
  std::optional<tcp::State> state(ConnectionId id);
  /// The next unread bytes, `most` at most, taken off unless `peek`.
  std::vector<std::byte> read(ConnectionId id, Bytes most, bool peek);
};

}  // namespace lockstep::tools::python
