// Statistics and per-connection settings outside the connection record: no logic.
#pragma once

#include <cstdint>

#include "core/tcp/config.hpp"
#include "core/units/bytes.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"

namespace lockstep::tcp {

// One for each connection slot, only if Config::accounts is on. The counters never influence a
// segment; the settings are here because few applications use them.
struct Account {
  // Settings.
  std::uint32_t keepalive_interval_ms = 0;  // 0: from Config
  std::uint16_t mss = 0;  // limit for our SYN's MSS option and for our data; 0: no limit
  std::uint8_t keepalive_probes = 0;  // 0: from Config
  Congestion congestion = Congestion::reno;

  // Counters of segments with data, received and sent.
  std::uint32_t data_segments_in = 0;
  std::uint32_t data_segments_out = 0;
  std::uint32_t out_of_order_segments = 0;  // queued above a gap
  std::uint32_t duplicates_told = 0;        // D-SACK blocks received
  Bytes overtaken;                          // maximum of AckSample::overtaken
  std::uint64_t bytes_retrans = 0;          // retransmitted payload octets
  std::uint64_t octets_marked = 0;          // octets acknowledged by ACKs with ECE

  // Retransmission timeouts, and the recoveries they started. A recovery ends when all that was in
  // flight at the timeout is acknowledged.
  std::uint32_t timeouts = 0;
  std::uint32_t repairs = 0;
  Duration repaired_for;                     // total time of finished recoveries
  Instant repairs_since = Instant::never();  // start of the current one
  Sequence repair_end;                       // SND.NXT at its timeout: where it ends

  Duration rwnd_limited_for;  // time in which only the peer's window stopped us from sending data
  Instant rwnd_limited_since = Instant::never();

  Duration least_rtt;  // of all samples; zero: no sample
  // Round-trip time measured as a receiver: from echoes of our timestamps, otherwise from the time
  // in which the peer sends one receive buffer of data.
  std::uint64_t rcv_rtt8_ns = 0;  // estimate times eight; 0: none
  Sequence round_end;             // RCV.NXT at the start of this round plus the receive buffer
  Instant round_since = Instant::never();
  std::uint32_t last_echo = 0;  // TSecr of the last sample
};

static_assert(sizeof(Account) <= 136, "memory that an account adds to a connection");

}  // namespace lockstep::tcp
