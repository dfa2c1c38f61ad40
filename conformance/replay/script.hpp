// The script played to the core: the peer's segments, the application's calls, and the conditions
// that each waits for.
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

/// Options that the core supports. Others are removed from the peer's segments.
struct SpokenByCore {
  bool fast_open = true;
  bool window_scale = true;
  bool timestamps = true;
  bool selective = true;
};
inline constexpr SpokenByCore spoken_by_core;

/// A condition for a step: the peer of the capture had received something before it sent, so the
/// core must have sent the same.
struct Need {
  enum class Kind : std::uint8_t {
    sent,         ///< the device had sent up to `sequence`
    transmitted,  ///< the device had sent the octet `sequence` `times` times
    right_edge,   ///< the device had offered the window up to `sequence` (a peer number)
    /// Like sent, or like transmitted if `times` is not 1. If the condition is not met, the
    /// segment, a duplicate ACK, is left out.
    triggered,
  };
  Kind kind = Kind::sent;
  std::uint32_t sequence = 0;  ///< as captured
  std::uint32_t times = 1;
  Instant met;  ///< in the capture's time
};

/// One input to the core.
struct Step {
  enum class Kind : std::uint8_t { segment, icmp, call };
  Kind kind = Kind::segment;
  Instant at;                ///< since the first packet of the capture
  std::uint64_t packet = 0;  ///< packet of the capture; 0 for a call
  tools::Segment
      segment;  ///< as played, except for the acknowledgment number, which is as captured
  std::uint64_t window_bytes = 0;   ///< the offered window, with the capture's scale
  std::uint64_t played_window = 0;  ///< the window offered to the core
  /// Age of the timestamp that the segment echoes. Empty if the echoed timestamp was not captured.
  std::optional<Duration> echo_age;
  tools::IcmpError icmp;
  Act act = Act::listen;
  std::uint32_t bytes = 0;
  std::vector<std::byte> content;  ///< data of a write
  bool joined = false;             ///< a call in the same turn as the step before it
  bool ignored_text = false;       ///< a SYN whose data the device did not accept
  std::uint32_t incarnation = 0;   ///< number of initial sequence numbers seen from the device
  std::vector<Need> needs;
};

/// One segment that the captured device sent.
struct Sent {
  tools::Segment segment;
  Instant at;
  std::uint32_t incarnation = 0;
  std::size_t steps_before = 0;
  std::uint32_t window_bytes = 0;  ///< scaled as negotiated
};

struct Script {
  Endpoint device, peer;
  Comparison comparison = Comparison::exact;
  Role role = Role::passive;
  std::vector<Step> steps;
  std::vector<Sent> sent;
  std::vector<std::uint32_t> isns;  ///< the device's initial sequence numbers as captured
  Instant end;                      ///< when the play ends
  std::vector<std::string> notes;   ///< what was removed, corrected or assumed
  Bytes device_mss{536}, peer_mss{536};
  std::uint32_t receive_buffer = 0;    ///< the largest window that the device offered; 0: unknown
  Duration round_trip;                 ///< least time from a device segment to its ACK
  bool away_from_device = false;       ///< the capture point is not at the device
  bool near = true;                    ///< no packet is lost between device and capture point
  bool at_device = true;               ///< no packet waits between device and capture point
  Duration distance;                   ///< least time from the capture point to the device and back
  std::vector<std::byte> peer_stream;  ///< the peer's data, from its SYN on
  bool inferred = false;               ///< the calls were inferred from the capture
  bool unaided = false;                ///< no scenario describes the capture point and losses
  bool recorded_late = false;          ///< some packets were recorded after their answers
  bool unfiltered = false;             ///< no filter excluded ICMP errors to the device
  bool selective = false;              ///< SACK was negotiated
  bool stamped = false;                ///< timestamps were negotiated
  bool marked = false;                 ///< ECN was negotiated
  bool multipath = false;              ///< MPTCP was negotiated: the window covers all subflows
  bool scaled = false;                 ///< window scaling was negotiated and is used
  unsigned device_shift = 0, peer_shift = 0;  ///< window scales as played
  std::optional<unsigned> offered_shift;      ///< the window scale on the device's SYN
  bool offered_stamps = false;                ///< the device's SYN had a timestamp
  bool offered_selective = false;             ///< the device's SYN had SACK-permitted
  bool asks_ecn = false;                      ///< the device sent an ECN-setup SYN
  bool fast_open = false;                     ///< a SYN has the Fast Open option, which is used
  bool listens_fast = false;                  ///< the device accepted SYN data or gave a cookie
  bool takes_text = false;                    ///< the device accepted data on the peer's SYN
  std::optional<std::vector<std::byte>>
      device_cookie;         ///< cookie on the device's SYN; empty: requested
  bool refuses_ecn = false;  ///< the peer sent an ECN-setup SYN, and the device refused
  bool peer_stamps = false, peer_scale = false,
       peer_selective = false;  ///< options on the peer's SYN
  std::string cannot_tell;      ///< why no verdict is possible; empty if one is
};

/// Makes the script of a flow. `original` is the flow before a twin's edit (otherwise the same
/// flow): it determines the data of writes and the end. If `scenario` is null, calls are inferred.
Script make_script(const Flow& flow, const Flow& original, const Endpoint& device,
                   const Scenario* scenario);

/// Adds inferred calls to a script that has all segments. Called by make_script.
void infer_calls(const Flow& flow, Script& script);

/// The octets that a side sent from its first SYN on, as captured, with zeros in gaps. `received`:
/// only from segments with a correct checksum.
std::vector<std::byte> stream_of(const Flow& flow, const Endpoint& side, bool received = false);

}  // namespace lockstep::conformance
