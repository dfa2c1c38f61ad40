// State of controllers and their helpers, kept while data is in flight: no logic.
#pragma once

#include <array>
#include <cstdint>

#include "core/memory/list.hpp"
#include "core/tcp/congestion/controller.h"
#include "core/units/bytes.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"

namespace lockstep::tcp {

// HyStart++ (RFC 9406). An RTT of zero means infinity: no sample yet.
struct HyStart {
  Sequence window_end;   // the round ends when this is acknowledged, while `begun`
  Duration last_min;     // lastRoundMinRTT
  Duration current_min;  // currentRoundMinRTT
  Duration baseline;     // cssBaselineMinRtt, while `conservative`
  std::uint8_t samples = 0;
  std::uint8_t rounds = 0;  // of conservative slow start, including the one in which it began
  bool begun = false;
  bool conservative = false;  // in CSS
};

// CUBIC (RFC 9438): one congestion avoidance stage.
struct Cubic {
  std::uint64_t estimate = 0;  // W_est, in octets with 16 bits of fraction
  Duration elapsed;            // t: since the stage began, without application-limited time
  Instant last;                // when t was last updated
  Bytes origin;                // W_max of this stage
  std::uint32_t k = 0;         // K in 1/4096 s
  bool running = false;
  bool drained = false;  // the last ACK left nothing in flight
};

// DCTCP (RFC 8257): one observation window, while `begun`.
struct Dctcp {
  Sequence window_end;  // DCTCP.WindowEnd
  Bytes acked;          // DCTCP.BytesAcked
  Bytes marked;         // DCTCP.BytesMarked
  bool begun = false;
};

// All zero if the connection has sent nothing since it was idle.
struct ControllerState {
  constexpr ControllerState() : cubic{} {}

  Sequence round_end;  // end of the round that `peak` measures, while `peak` is not zero
  Bytes peak;          // the most octets in flight in this round
  HyStart slow;
  union {
    Cubic cubic;
    Dctcp dctcp;
  };
};

// One segment in flight, recorded so that its ACK gives a rate and an RTT sample.
struct TxStamp {
  Sequence end;        // an ACK of this octet acknowledges the segment
  Sequence delivered;  // SND.UNA when it was sent
  Instant sent_at;
  Instant delivered_at;   // when SND.UNA had last advanced before it was sent
  Instant first_sent_at;  // send time of the segment acknowledged last before this one was sent
  memory::Index next = memory::nil;
  bool limited = false;  // the application had nothing more to send at some time since
};

// The marks of a connection, oldest first, and the values for the next one.
struct Marks {
  memory::Index first = memory::nil;
  memory::Index last = memory::nil;
  std::uint32_t count = 0;
  Sequence limited_until;  // data up to here is application-limited
  Instant delivered_at;
  Instant first_sent_at;
};

// A rate sample from one ACK of new data. Not valid if none of the data it covers had a mark.
struct RateSample {
  Bytes delivered;       // octets delivered ...
  Duration interval;     // ... in this time: the longer of the send and ACK intervals
  Duration rtt;          // of the newest marked segment
  bool limited = false;  // application-limited: the path may carry more
  bool valid = false;
};

// When data was last sent, as an added controller's rate sample needs it: one for each range of the
// scoreboard, only if Config names such a controller.
struct SentStamp {
  std::uint64_t delivered = 0;  // AddedState::delivered at that time; 0: unknown
  std::uint64_t lost = 0;
  Instant sent_at;
  Instant delivered_at;
  Instant first_sent_at;
  Bytes in_flight;       // with it
  bool limited = false;  // the application was the limit
};

// What an added controller has of a connection, for its whole life, only if Config names one.
struct AddedState {
  std::array<std::uint64_t, LOCKSTEP_CONTROLLER_STATE_MAX> words{};
  Bytes cwnd;  // as the controller set it; of one that owns the window
  std::uint64_t pacing_rate = 0;
  std::uint64_t delivered = 1;
  std::uint64_t lost = 0;
  std::uint64_t lost_told = 0;      // `lost` at the last ACK
  std::uint64_t limited_until = 0;  // data is application-limited until `delivered` exceeds this
  Instant delivered_at;             // of the last ACK that delivered data
  Instant first_sent_at;            // when the segment of the last sample was sent
  Sequence quantum_end;             // of the quantum that is being sent; SND.NXT or above
  SentStamp newest;                 // of the segment sent last that this ACK delivers
  bool sampled = false;             // `newest` is valid
  bool newest_again = false;        // that segment was retransmitted: its RTT is unknown
  bool limited = false;             // Acked::limited of this ACK; false between ACKs
};

// The first window out of range that a controller has set. It was replaced by the nearest one.
struct ControllerFault {
  std::uint64_t cwnd = 0;
  Instant at;
  bool found = false;
};

}  // namespace lockstep::tcp
