// What is counted and chosen for one connection beyond its record: no logic.
#pragma once

#include <cstdint>

#include "core/tcp/config.hpp"
#include "core/units/bytes.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"

namespace lockstep::tcp {

// Kept by the connection's slot, and only where Config::accounts asks for it. No segment depends on
// what is counted; what is chosen stands here because few choose anything.
struct Account {
  // Chosen.
  std::uint32_t keepalive_interval_ms = 0;  // 0: the configuration's
  std::uint16_t mss = 0;                    // our SYN names no more, nor has data more; 0: no limit
  std::uint8_t keepalive_probes = 0;        // 0: the configuration's
  Congestion congestion = Congestion::reno;

  // Counted: segments with data, as they came and as they left.
  std::uint32_t data_segments_in = 0;
  std::uint32_t data_segments_out = 0;
  std::uint32_t out_of_order_segments = 0;  // queued above a gap
  std::uint32_t duplicates_told = 0;        // D-SACK blocks of the peer
  Bytes overtaken;                          // AckSample::overtaken, the most that was seen
  std::uint64_t bytes_retrans = 0;          // of data, sent again
  std::uint64_t octets_marked = 0;          // acknowledged under ECE

  // Retransmission timeouts, and the recoveries that they began: until all that was out then is
  // acknowledged.
  std::uint32_t timeouts = 0;
  std::uint32_t repairs = 0;
  Duration repaired_for;                     // in those that are over
  Instant repairs_since = Instant::never();  // the one under way
  Sequence repair_end;                       // and where it ends

  Duration rwnd_limited_for;  // data was there, and only the peer's window forbade it
  Instant rwnd_limited_since = Instant::never();

  Duration least_rtt;  // of all samples; zero: none
  // The round trip as a receiver sees it: by echoes of our timestamps, else by how long the peer
  // takes for what our buffer holds.
  std::uint64_t rcv_rtt8_ns = 0;  // eight times the estimate; 0: none
  Sequence round_end;             // a buffer's worth behind where this round began
  Instant round_since = Instant::never();
  std::uint32_t echo_heard = 0;  // TSecr of the last sample
};

static_assert(sizeof(Account) <= 136, "what an account adds to a connection");

}  // namespace lockstep::tcp
