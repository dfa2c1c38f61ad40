// What a script says, as it was read: settings, then events in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::conformance::script {

/// A place in the file, both from 1.
struct Place {
  int line = 1;
  int column = 1;
};

/// When an event is to happen. Times are nanoseconds from the start of the script, or from the
/// event before it.
struct When {
  bool any = false;       ///< `*`
  bool relative = false;  ///< `+`
  std::uint64_t begin = 0;
  std::uint64_t end = 0;                    ///< more than `begin` only for a range
  std::optional<std::uint64_t> returns_at;  ///< of a call that blocks, counted as `begin` is
};

/// An argument of a call, a part of one, or what it should give.
struct Value {
  enum class Kind : std::uint8_t { ellipsis, number, text, list, record, function };
  Kind kind = Kind::ellipsis;
  Place place;
  std::int64_t number = 0;
  std::string text;                ///< of a text, or the name of a function
  std::vector<Value> items;        ///< of a list, a record or a function
  std::vector<std::string> names;  ///< of a record's items; empty where they have none

  /// The item of a record that has this name, or stands at this place if it has no names.
  const Value* field(const std::string& name, std::size_t at) const;
};

struct Call {
  std::string name;
  std::vector<Value> arguments;
  std::optional<std::int64_t> result;  ///< none: `...`, whatever it gives
  int error = 0;                       ///< errno, with a result of -1
};

/// One option of a TCP header: its octets, and where its stamps stand.
struct Option {
  std::uint8_t kind = 0;
  std::vector<std::uint8_t> data;      ///< behind the length octet; none: the option is one octet
  std::optional<std::uint8_t> length;  ///< as it is to stand there, if it is not the true one

  bool operator==(const Option&) const = default;
};

enum class Direction : std::uint8_t { in, out };

/// What is asked of the IP header.
struct IpFields {
  std::optional<std::uint8_t> ecn;  ///< 4: ECT(0) or ECT(1)
  std::optional<std::uint8_t> tos, ttl;
  std::optional<std::uint32_t> flow_label;
};

struct SequenceRange {
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
};

/// Which connection a packet belongs to, as its header has it: from, and to.
struct PortNames {
  std::uint16_t source = 0, destination = 0;
};

struct TcpPacket {
  std::uint16_t flags = 0;  ///< nine bits; the highest is AE
  SequenceRange sequence;
  std::optional<std::uint32_t> ack, window, urgent;
  bool any_options = false;  ///< `<...>`
  bool bad_checksum = false;
  std::vector<Option> options;
};

struct IcmpPacket {
  std::uint8_t type = 0, code = 0;
  std::uint32_t mtu = 0;
  std::optional<std::uint16_t> id;  ///< of an echo
  std::optional<SequenceRange> quoted;
};

struct Packet {
  Direction direction = Direction::in;
  IpFields ip;
  std::optional<PortNames> ports;  ///< none: of the connection that was used last
  bool is_icmp = false;
  TcpPacket tcp;
  IcmpPacket icmp;
};

/// One sysctl of a command.
struct Assignment {
  Place place;
  std::string name, value;
};

struct Event {
  enum class Kind : std::uint8_t { call, packet, code, command };
  Kind kind = Kind::call;
  Place place;
  When when;
  Call call;
  Packet packet;
  std::string code;
  Place code_place;
  std::vector<Assignment> command;
};

enum class IpMode : std::uint8_t { ipv4, mapped, ipv6 };

struct Head {
  IpMode mode = IpMode::ipv4;
  std::optional<std::uint32_t> mtu, mss;
  std::uint64_t tolerance_ns = 0;
  std::uint32_t tolerance_ppm = 0;  ///< of the time since the event before, if that is more
  std::uint64_t stamp_tick_ns = 0;  ///< 0: what stamps say is not compared
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
};

using Defines = std::vector<std::pair<std::string, std::string>>;

/// Reads a script. Throws Failure (bad_input): "FILE:LINE:COLUMN: what, expected, mend".
Script parse(const std::string& file, const std::string& text, const Defines& defines);
/// The same from a file; environment if it cannot be read, bad_input for a pipe or a folder.
Script parse_file(const std::string& path, const Defines& defines);

}  // namespace lockstep::conformance::script
