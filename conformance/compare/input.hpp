// An input: what the tester sends and which calls the program makes, in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/wire/tcp.hpp"

namespace lockstep::conformance::compare {

/// Where the device's connection comes from: it listens, it connects, or there is none.
enum class Opening : std::uint8_t { listens, connects, closed };

/// Which connection a segment is for: the one that is tested, another port of the tester, or a port
/// of the device where nothing listens.
enum class Aim : std::uint8_t { connection, other_peer, closed_port };

/// A segment of the tester. Numbers count from the SYN of the side whose octets they number, so
/// one input fits all devices.
struct Piece {
  wire::Flags flags;
  Aim aim = Aim::connection;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::uint16_t octets = 0;  ///< of data
  std::uint16_t window = 65'535;
  std::uint16_t urgent = 0;
  std::uint16_t mss = 0;  ///< 0: no option
  int scale = -1;         ///< below 0: no option
  bool sack = false;      ///< permits SACK
  bool stamped = false;
  std::uint32_t stamp = 0;
  bool rare = false;  ///< has an option that few know (RFC 5482)

  bool operator==(const Piece&) const = default;
};

enum class Act : std::uint8_t { segment, send, receive, finish, close, wait };

struct Step {
  Act act = Act::wait;
  std::uint32_t after_ms = 0;  ///< since the step before
  std::uint32_t octets = 0;    ///< of send and receive
  Piece piece;

  bool operator==(const Step&) const = default;
};

struct Input {
  Opening opening = Opening::listens;
  std::uint32_t first = 0;  ///< the tester's ISN
  std::vector<Step> steps;

  bool operator==(const Input&) const = default;
};

/// Grows an input from a seed, by the grammar of README.md.
Input draw_input(std::uint64_t seed);

/// One line for each step.
std::string text_of(const Input& input);

}  // namespace lockstep::conformance::compare
