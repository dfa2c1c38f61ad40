// Trains: full segments of new data that follow one another at the same instant, whose headers
// differ only in the sequence number and the checksum.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/tcp/engine.hpp"
#include "core/tcp/transmit.hpp"

namespace lockstep::tcp {

// The segments that may follow the one sent last, as they are decided on and written one by one
// otherwise. Valid until a call changes the stack, or time goes on. In no snapshot: it follows from
// the connection.
struct Train {
  static constexpr std::size_t headers_max = 96;

  std::uint32_t left = 0;     // segments; 0: none may follow
  Index active = nil;         // of the sender, the first of the ready list
  Instant at;                 // when the first one left
  Bytes data;                 // of each segment
  std::uint32_t tcp_at = 0;   // where the TCP header begins in the frame
  std::uint32_t headers = 0;  // octets of all headers
  std::uint64_t sum = 0;      // of pseudo-header, TCP header and options; the number counts as zero
  std::array<std::byte, headers_max> frame{};  // the headers, as the first one had them
};

// Sets up `train` if more segments may follow the one that is in `frame` and has just left.
// `tcp_at`: where its TCP header begins.
void begin_train(Engine& e, const Transmitted& sent, std::span<const std::byte> frame,
                 std::uint32_t tcp_at, Train& train);

// Writes the next segment of a train that has any left, with all its headers, into `frame`, and
// returns the length of the frame. Equals what transmit_first() would do.
Bytes send_follower(Engine& e, Train& train, std::span<std::byte> frame);

}  // namespace lockstep::tcp
