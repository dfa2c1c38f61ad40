// A scenario.toml: the device under test, its configuration, its application's calls, its twins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/stack/config.hpp"
#include "core/units/address.hpp"
#include "core/units/time.hpp"

namespace lockstep::conformance {

/// What an application does.
enum class Act : std::uint8_t {
  open,
  listen,
  write,
  consume,
  hold,
  resume,
  finish,
  close,
  abort,
  urgent,
};

std::string_view name_of(Act act);

/// One call of the device's application. Exactly one of after_packet and at is set.
struct PlannedCall {
  std::optional<std::uint64_t> after_packet;  ///< right after that packet; 0: before the first
  std::optional<Duration> at;                 ///< since the first packet
  Act act = Act::listen;
  std::uint32_t bytes = 0;
};

enum class Field : std::uint8_t {
  sequence,
  acknowledgment,
  flags,
  window,
  payload,
  mss,
  urgent,
  sack,   ///< both edges of the first block; value 0 removes the blocks
  stamp,  ///< TSval; value 0 removes the timestamps
  echo,   ///< TSecr
  ecn,    ///< the two ECN bits in the IP header
};

/// One edit of the capture. Numbers are relative to the latest SYN of their side.
struct Edit {
  enum class Kind : std::uint8_t { change, drop, delay, insert };
  Kind kind = Kind::drop;
  std::uint64_t packet = 0;  ///< the edited packet, or the packet after which one is inserted
  Field field = Field::sequence;
  std::int64_t add = 0;
  std::optional<std::int64_t> value;
  std::uint8_t flags = 0;     ///< for an edit of flags and for an insert
  std::int64_t delay_ns = 0;  ///< negative: earlier
  std::int64_t sequence = 0, acknowledgment = 0;
  std::uint32_t bytes = 0;
  std::optional<std::uint16_t> window;
};

/// An edit of the capture for which the verdict must be that it violates the clause.
struct Twin {
  std::string clause;
  Edit edit;
  std::string text;  ///< the edit in words, for tables
};

enum class Role : std::uint8_t { active, passive, closed };

/// exact: every segment at its exact time (authored scenarios). obligations: what a TCP must do
/// (captures of other TCPs).
enum class Comparison : std::uint8_t { exact, obligations };

struct Scenario {
  std::string path, title, origin, made_by;
  std::vector<std::string> shows;
  Endpoint device;
  Role role = Role::passive;
  std::string profile = "rfc";
  Config config;  ///< the profile with [device.config] applied
  bool sets_receive_buffer = false;
  std::vector<PlannedCall> calls;
  std::vector<Twin> twins;
  Comparison comparison = Comparison::exact;
};

/// Reads a scenario. Throws Failure (bad_input) with file and line if a key is unknown, missing,
/// out of range, or has a wrong type or unit.
Scenario load_scenario(const std::string& path);

/// Flags from letters such as "SA"; nothing if a letter is no flag.
std::optional<std::uint8_t> flags_from_letters(std::string_view letters);

}  // namespace lockstep::conformance
