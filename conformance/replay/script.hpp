// What is played to the core: the peer's segments, the application's calls, and what each waits
// for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/replay/flow.hpp"
#include "conformance/replay/scenario.hpp"
#include "core/units/bytes.hpp"
#include "core/units/time.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::conformance {

/// What the core speaks of the options that a capture may have agreed on; the rest is taken out of
/// the peer's segments.
struct SpokenByCore {
  bool fast_open = true;
  bool window_scale = true;
  bool timestamps = true;
  bool selective = true;
};
inline constexpr SpokenByCore spoken_by_core;

/// The peer of the capture had seen something before it sent; the core must have done the same.
struct Need {
  enum class Kind : std::uint8_t {
    sent,         ///< the device had sent up to `sequence`
    transmitted,  ///< it had sent the octet `sequence` `times` times
    right_edge,   ///< it had offered the window up to `sequence` (a number of the peer's)
    /// As sent, or transmitted if `times` is not 1; but without it the segment is left out: a
    /// duplicate ACK of nothing.
    triggered,
  };
  Kind kind = Kind::sent;
  std::uint32_t sequence = 0;  ///< as captured
  std::uint32_t times = 1;
  Instant met;  ///< in the capture
};

/// One thing that happens to the core.
struct Step {
  enum class Kind : std::uint8_t { segment, icmp, call };
  Kind kind = Kind::segment;
  Instant at;                ///< since the beginning of the capture
  std::uint64_t packet = 0;  ///< of the capture; 0 for a call
  tools::Segment segment;    ///< as it is sent, but for its acknowledgment number: that is captured
  std::uint64_t window_bytes = 0;   ///< what the segment offered with the scale of the capture
  std::uint64_t played_window = 0;  ///< what it offers to the core
  /// How long before it the device had sent the timestamp that it echoes; none: it echoes nothing
  /// that was captured.
  std::optional<Duration> echo_age;
  tools::IcmpError icmp;
  Act act = Act::listen;
  std::uint32_t bytes = 0;
  std::vector<std::byte> content;  ///< of a write
  bool joined = false;             ///< a call in the turn of the step before it
  bool ignored_text = false;       ///< a SYN whose text the device did not take
  std::uint32_t incarnation = 0;   ///< how many initial sequence numbers the device had shown
  std::vector<Need> needs;
};

/// One segment that the device of the capture sent.
struct Sent {
  tools::Segment segment;
  Instant at;
  std::uint32_t incarnation = 0;
  std::size_t steps_before = 0;
  std::uint32_t window_bytes = 0;  ///< with the scale that was negotiated
};

struct Script {
  Endpoint device, peer;
  Comparison comparison = Comparison::exact;
  Role role = Role::passive;
  std::vector<Step> steps;
  std::vector<Sent> sent;
  std::vector<std::uint32_t> isns;  ///< the device's initial sequence numbers as captured
  Instant end;                      ///< until when the core is watched
  std::vector<std::string> notes;   ///< what was taken out, mended or assumed
  Bytes device_mss{536}, peer_mss{536};
  std::uint32_t receive_buffer = 0;    ///< the largest window that the device offered; 0: unknown
  Duration round_trip;                 ///< the least from the device's segment to its ACK
  bool taken_away = false;             ///< the capture was not taken at the device
  bool near = true;                    ///< no packet is lost between the device and the capture
  Duration distance;                   ///< from the capture point to the device and back, at least
  std::vector<std::byte> peer_stream;  ///< what the peer sent, from its SYN on
  bool inferred = false;               ///< the calls come from the capture
  bool unaided = false;                ///< no scenario tells where it was taken and what was lost
  bool selective = false;              ///< SACK had been negotiated
  bool stamped = false;                ///< timestamps had been
  bool marked = false;                 ///< ECN had been
  bool multipath = false;              ///< MPTCP had been: a subflow tells the window of all
  bool scaled = false;                 ///< window scaling had been negotiated and is spoken
  unsigned device_shift = 0, peer_shift = 0;  ///< of the windows as they are played
  std::optional<unsigned> offered_shift;      ///< the scale that the device's SYN named
  bool offered_stamps = false;                ///< the device's SYN had a timestamp
  bool offered_selective = false;             ///< it had SACK-permitted
  bool asks_ecn = false;                      ///< it was an ECN-setup SYN
  bool fast_open = false;                     ///< a SYN has the option of Fast Open: it is spoken
  bool listens_fast = false;                  ///< the device took text on a SYN, or gave a cookie
  bool takes_text = false;                    ///< it took text on the peer's SYN
  std::optional<std::vector<std::byte>> device_cookie;  ///< that its SYN shows; empty: it asks
  bool refuses_ecn = false;  ///< the peer's was, and the device's answer was not
  bool peer_stamps = false, peer_scale = false, peer_selective = false;  ///< the peer's SYN had it
  std::string cannot_tell;  ///< why no verdict is possible; empty if one is
};

/// Makes the script of a flow. `original` is the flow before any edit of a twin (else the same): it
/// gives the contents of writes and the end. `scenario` may be null: calls are inferred then.
Script make_script(const Flow& flow, const Flow& original, const Endpoint& device,
                   const Scenario* scenario);

/// Adds inferred calls to a script whose segments are all there: to be called by make_script.
void infer_calls(const Flow& flow, Script& script);

/// The octets that a side sent from its first SYN on, as far as they were captured, zeros between.
/// `received`: of segments with a right checksum alone.
std::vector<std::byte> stream_of(const Flow& flow, const Endpoint& side, bool received = false);

}  // namespace lockstep::conformance
