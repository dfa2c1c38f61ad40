// What a .pkt script says, as values: times, packets, calls, code, commands, each with its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::script {

/// Where something stands in a script, both from 1.
struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  bool operator==(const Place&) const = default;
};

/// When an event is due. `+0.1` is relative to the event before, `0.1` to the script's begin, `*`
/// at any time; `0.1~0.2` and `+0.1~+0.2` allow a span, `0.1...0.2` names when a call returns.
struct When {
  enum class Kind : std::uint8_t { absolute, relative, any };
  Kind kind = Kind::absolute;
  Duration at;
  std::optional<Duration> latest;   ///< of a span
  std::optional<Duration> returns;  ///< of a call that blocks; counted as `at` is
  bool operator==(const When&) const = default;
};

/// `first:end(length)`; end - first is length.
struct Sequences {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  std::uint32_t length = 0;
  bool operator==(const Sequences&) const = default;
};

/// One option of `<...>`.
struct Option {
  enum class Kind : std::uint8_t {
    mss,             // numbers: the size
    window_scale,    // the shift
    sack_permitted,
    sack,            // begin and end of each block
    timestamps,      // value, echo
    nop,
    end,
    fast_open,       // `octets` is the cookie, FO
    fast_open_old,   // the same as an experiment, FOEXP
  };
  Kind kind = Kind::nop;
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint8_t> octets;
  bool operator==(const Option&) const = default;
};

struct TcpPacket {
  std::string flags;  ///< some of FSRPWEUA and '.', each once; empty: none
  Sequences text;
  std::optional<std::uint32_t> ack;
  std::optional<std::uint32_t> window;
  std::optional<std::uint32_t> urgent;
  bool any_options = false;  ///< `<...>`
  std::vector<Option> options;
  bool operator==(const TcpPacket&) const = default;
};

/// An ICMP error of either family about one of our segments.
struct IcmpPacket {
  bool v6 = false;
  std::string type;  ///< `unreachable`, ...: see icmp_types
  std::string code;  ///< `frag_needed`, ...; empty: the type has none
  std::optional<std::uint32_t> mtu;
  std::optional<Sequences> quoted;
  bool operator==(const IcmpPacket&) const = default;
};

enum class Ecn : std::uint8_t { unsaid, none, ect0, ect1, ce };

struct Packet {
  bool inbound = false;  ///< `<`: to the stack; `>`: from it
  Ecn ecn = Ecn::unsaid;
  std::variant<TcpPacket, IcmpPacket> what;
  bool operator==(const Packet&) const = default;
};

/// A node of an expression. Children are positions in Call::nodes.
struct Node {
  enum class Kind : std::uint8_t {
    ellipsis,   // ...
    number,
    word,       // AF_INET, also of a call: htons(8080)
    text,       // "..."; `open`: followed by ...
    list,       // [a, b]
    structure,  // {a, b}, {name = a}, {name(n) = a}
    bits_or,    // a | b | c
    bits_not,   // ~a
  };
  Kind kind = Kind::ellipsis;
  Place place;
  std::int64_t number = 0;
  std::string word;                     ///< of a word and a text
  bool called = false;                  ///< of a word: parentheses follow
  bool open = false;
  std::vector<std::uint32_t> children;  ///< arguments, elements or operands
  std::vector<std::uint32_t> names;     ///< of a structure: each element's, or no_name
  static constexpr std::uint32_t no_name = 0xffff'ffff;
};

/// `read(3, ..., 100) = -1 EAGAIN (Resource temporarily unavailable)`.
struct Call {
  std::string name;
  std::vector<Node> nodes;               ///< in the order in which they begin
  std::vector<std::uint32_t> arguments;  ///< positions in `nodes`
  std::uint32_t result = 0;              ///< a position in `nodes`
  std::string error;                     ///< `EAGAIN`, or empty
};

/// `%{ ... }%`
struct Code {
  std::string text;
};

/// `` `sysctl -q net.ipv4.tcp_sack=0` ``
struct Command {
  std::string text;
};

struct Event {
  Place place;
  When when;
  std::variant<Packet, Call, Code, Command> what;
};

/// `--name=value` before the first event.
struct Setting {
  Place place;
  std::string name;
  std::string value;
};

struct Script {
  std::vector<Setting> settings;
  std::optional<Command> first;  ///< a command before the first time
  std::vector<Event> events;
};

}  // namespace lockstep::script
