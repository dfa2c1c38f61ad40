// A parsed script: settings, then events in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tcp/state.hpp"
#include "core/units/time.hpp"

namespace lockstep::conformance::script {

/// A place in the file; line and column count from 1.
struct Place {
  int line = 1;
  int column = 1;
};

/// The time of an event, in nanoseconds since the start of the script or since the previous event.
struct When {
  bool any = false;       ///< `*`
  bool relative = false;  ///< `+`
  std::uint64_t begin = 0;
  std::uint64_t end = 0;                    ///< larger than `begin` only for a range
  std::optional<std::uint64_t> returns_at;  ///< of a call that blocks, relative like `begin`
};

/// An argument of a call, a part of one, or an expected result.
struct Value {
  enum class Kind : std::uint8_t { ellipsis, number, text, list, record, function };
  Kind kind = Kind::ellipsis;
  Place place;
  std::int64_t number = 0;
  std::string text;                ///< a string's characters, or the name of a function
  std::vector<Value> items;        ///< of a list, a record or a function
  std::vector<std::string> names;  ///< of a record's items; empty if they have none

  /// The item of a record with this name, or at this position if the items have no names.
  const Value* field(const std::string& name, std::size_t at) const;
};

/// Written `...`.
inline bool is_any(const Value& value) { return value.kind == Value::Kind::ellipsis; }

struct Call {
  std::string name;
  std::vector<Value> arguments;
  std::optional<std::int64_t> result;  ///< none: `...`, any result
  int error = 0;                       ///< errno, with a result of -1
};

/// One option of a TCP header: its octets, and the positions of its timestamps.
struct Option {
  std::uint8_t kind = 0;
  std::vector<std::uint8_t> data;      ///< after the length octet; none: the option is one octet
  std::optional<std::uint8_t> length;  ///< the length octet, if it differs from the actual length
  bool any_value = false, any_echo = false;  ///< of an expected timestamp: `...`

  bool operator==(const Option&) const = default;
};

enum class Direction : std::uint8_t { in, out };

/// Requirements on the IP header.
struct IpFields {
  std::optional<std::uint8_t> ecn;  ///< 4: ECT(0) or ECT(1)
  std::optional<std::uint8_t> tos, ttl;
  std::optional<std::uint8_t> dscp;  ///< the upper six bits of tos
  std::optional<std::uint32_t> flow_label;
};

struct SequenceRange {
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
};

/// The ports in a packet's header, which name its connection.
struct PortNames {
  std::uint16_t source = 0, destination = 0;
};

struct TcpPacket {
  std::uint16_t flags = 0;  ///< nine bits; the highest is AE
  SequenceRange sequence;
  std::optional<std::uint32_t> ack, window, urgent;
  bool any_sequence = false, any_ack = false;  ///< `...` and `!`: not compared
  bool any_options = false;                    ///< `<...>`
  bool bad_checksum = false;
  std::vector<Option> options;
};

struct IcmpPacket {
  std::uint8_t type = 0, code = 0;
  std::uint32_t mtu = 0;
  std::optional<std::uint16_t> id;  ///< of an echo message
  std::optional<SequenceRange> quoted;
};

/// A change of an arriving packet: octets replaced, inserted or removed, at an offset in a header.
struct Mutation {
  enum class Kind : std::uint8_t { replace, insert, truncate };
  Kind kind = Kind::replace;
  bool ip = false;  ///< in the IP header; else in that of TCP
  std::uint32_t offset = 0;
  std::uint32_t length = 0;  ///< of a truncation
  std::vector<std::uint8_t> octets;
};

struct Packet {
  Direction direction = Direction::in;
  IpFields ip;
  std::optional<PortNames> ports;      ///< none: the connection used last
  std::optional<std::int64_t> socket;  ///< `sock(N)`: the connection of this descriptor
  bool is_icmp = false;
  TcpPacket tcp;
  IcmpPacket icmp;
  std::vector<Mutation> mutations;
};

/// One sysctl of a command.
struct Assignment {
  Place place;
  std::string name, value;
};

/// A command of a script that asserts how many of its sockets are in a state.
struct StateCheck {
  Place place;
  std::string text;                    ///< the command
  std::vector<tcp::State> states;      ///< none: any state
  std::optional<std::uint64_t> count;  ///< none: one at least
};

/// What a command of the shell amounts to here.
struct Shell {
  std::vector<Assignment> set;
  std::vector<StateCheck> checks;
};

/// Something of a script that was not carried out.
struct Note {
  Place place;
  std::string text;      ///< what the script says
  std::string why;       ///< the reason
  bool lenient = false;  ///< without --lenient the script would have been refused
};

struct Event {
  enum class Kind : std::uint8_t { call, packet, code, command, left_out };
  Kind kind = Kind::call;  ///< left_out: only its time counts
  Place place;
  When when;
  Call call;
  Packet packet;
  std::string code;
  Place code_place;
  Shell shell;
};

enum class IpMode : std::uint8_t { ipv4, mapped, ipv6 };

struct Head {
  IpMode mode = IpMode::ipv4;
  std::optional<std::uint32_t> mtu, mss;
  std::uint64_t tolerance_ns = 0;
  bool tolerance_given = false;
  std::uint32_t tolerance_ppm = 0;  ///< of the time since the previous event, if that is larger
  std::uint64_t stamp_tick_ns = 0;  ///< 0: timestamps are not compared
  std::optional<bool> strict_segments, allow_trailing;
  std::string profile, local_ip, remote_ip;
  std::uint16_t bind_port = 8080, connect_port = 8080;
  std::vector<Assignment> config;  ///< fields of Config
};

struct Script {
  std::string file;
  std::vector<std::string> lines;
  Head head;
  std::vector<Event> events;
  std::vector<Note> notes;
  /// Written for packetdrill itself: packets after the last event do not matter there.
  bool upstream = false;
};

using Defines = std::vector<std::pair<std::string, std::string>>;

/// lenient: leaves out, with a note, what would be refused.
enum class Strictness : std::uint8_t { strict, lenient };

/// Parses a script. Throws Failure (bad_input): "FILE:LINE:COLUMN: what, expected, correction".
Script parse(const std::string& file, const std::string& text, const Defines& defines,
             Strictness strictness = Strictness::strict);
/// The same for a file; environment if it cannot be read, bad_input for a pipe or a folder.
Script parse_file(const std::string& path, const Defines& defines,
                  Strictness strictness = Strictness::strict);

}  // namespace lockstep::conformance::script
