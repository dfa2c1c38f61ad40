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
  sack,   ///< both edges of the first block; a value of 0 takes the blocks out
  stamp,  ///< TSval; a value of 0 takes the timestamps out
  echo,   ///< TSecr
  ecn,    ///< the two bits in the IP header
};

/// One change of the capture. Numbers are relative to the latest SYN of their side.
struct Edit {
  enum class Kind : std::uint8_t { change, drop, delay, insert };
  Kind kind = Kind::drop;
  std::uint64_t packet = 0;  ///< the packet that is edited, or after which one is inserted
  Field field = Field::sequence;
  std::int64_t add = 0;
  std::optional<std::int64_t> value;
  std::uint8_t flags = 0;     ///< of a change of flags, and of an insert
  std::int64_t delay_ns = 0;  ///< negative: earlier
  std::int64_t sequence = 0, acknowledgment = 0;
  std::uint32_t bytes = 0;
  std::optional<std::uint16_t> window;
};

/// An edit of the capture that must be judged to violate the clause.
struct Twin {
  std::string clause;
  Edit edit;
  std::string text;  ///< the edit in words, for tables
};

enum class Role : std::uint8_t { active, passive, closed };

/// exact: every frame, in its instant (authored scenarios). obligations: what a TCP owes (captures
/// of TCPs that are not ours).
enum class Comparison : std::uint8_t { exact, obligations };

struct Scenario {
  std::string path, title, origin, made_by;
  std::vector<std::string> shows;
  Endpoint device;
  Role role = Role::passive;
  std::string profile = "rfc";
  Config config;  ///< the profile with [device.config] laid over it
  bool sets_receive_buffer = false;
  std::vector<PlannedCall> calls;
  std::vector<Twin> twins;
  Comparison comparison = Comparison::exact;
};

/// Reads a scenario. Throws Failure (bad_input) with file and line where a key is unknown, missing,
/// of a wrong type or unit, or out of range.
Scenario load_scenario(const std::string& path);

/// "SA" and the like; nothing where a letter is no flag.
std::optional<std::uint8_t> flags_from_letters(std::string_view letters);

}  // namespace lockstep::conformance
