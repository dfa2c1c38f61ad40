// What controllers and their helpers remember while something is in flight: no logic.
#pragma once

#include <cstdint>

#include "core/memory/list.hpp"
#include "core/units/bytes.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"

namespace lockstep::tcp {

// HyStart++ (RFC 9406). An RTT of zero stands for infinity: there was none yet.
struct HyStart {
  Sequence window_end;   // the round ends when this is acknowledged, while `begun`
  Duration last_min;     // lastRoundMinRTT
  Duration current_min;  // currentRoundMinRTT
  Duration baseline;     // cssBaselineMinRtt, while `conservative`
  std::uint8_t samples = 0;
  std::uint8_t rounds = 0;  // of conservative slow start, the one it began in included
  bool begun = false;
  bool conservative = false;  // in CSS
};

// CUBIC (RFC 9438): one stage of congestion avoidance.
struct Cubic {
  std::uint64_t estimate = 0;  // W_est, in octets with 16 bits of fraction
  Duration elapsed;            // t: since the stage began, less what the application left unused
  Instant last;                // when t was brought up to date
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

// All zero when the connection has sent nothing since it was idle.
struct ControllerState {
  constexpr ControllerState() : cubic{} {}

  Sequence round_end;  // `peak` counts up to here, while `peak` is not zero
  Bytes peak;          // the most that was in flight in this round
  HyStart slow;
  union {
    Cubic cubic;
    Dctcp dctcp;
  };
};

// One segment on its way, remembered so that its ACK tells a rate and a round-trip time.
struct TxStamp {
  Sequence end;        // an ACK of this is the segment's
  Sequence delivered;  // SND.UNA when it left
  Instant sent_at;
  Instant delivered_at;   // when SND.UNA had moved last before it left
  Instant first_sent_at;  // when the segment left whose ACK came last before it left
  memory::Index next = memory::nil;
  bool limited = false;  // the application had no more to send at some time since
};

// The marks of a connection, oldest first, and what the next one will hold.
struct Marks {
  memory::Index first = memory::nil;
  memory::Index last = memory::nil;
  std::uint32_t count = 0;
  Sequence limited_until;  // what is sent up to here is limited by the application
  Instant delivered_at;
  Instant first_sent_at;
};

// What one ACK of new data tells of the path. Nothing, if none of what it covers bore a mark.
struct RateSample {
  Bytes delivered;       // octets that were delivered ...
  Duration interval;     // ... in this time: the longer one of sending and of acknowledging
  Duration rtt;          // of the newest segment with a mark
  bool limited = false;  // by the application: the path may carry more
  bool valid = false;
};

}  // namespace lockstep::tcp
