// The interface of a congestion controller: a table of functions, and their arguments.
#pragma once

#include <string_view>

#include "core/tcp/config.hpp"
#include "core/tcp/connection.hpp"

namespace lockstep::tcp::congestion {

// Far above any window, so that sums of two never wrap.
inline constexpr std::uint32_t cwnd_max = 1u << 30;

constexpr Bytes capped(std::uint64_t octets) {
  return {static_cast<std::uint32_t>(octets < cwnd_max ? octets : cwnd_max)};
}

// One connection, as its controller sees it.
struct Subject {
  CongestionVariables& v;  // cwnd, ssthresh, and `kept`, for the life of the connection
  ControllerState& state;  // zeroed whenever the connection sends data after having been idle
  const Config& config;
  Bytes smss;  // the largest data segment that we send
  Instant now;
};

// One ACK of new data.
struct Acked {
  Bytes newly;            // octets that it acknowledges
  Sequence una;           // SND.UNA after it
  Sequence nxt;           // SND.NXT
  Bytes slow_start_most;  // by how much it may increase cwnd in slow start
  Duration srtt;          // zero: no sample yet
  bool marked = false;    // it carries ECE
  bool limited = false;   // the application, not cwnd, limited the flight in this round
  RateSample sample;      // valid only where wants_marks()
};

// Why the window must be reduced.
enum class Signal : std::uint8_t { loss, mark, timeout };

// One controller. Its functions change only what Subject refers to.
struct Controller {
  std::string_view name;  // as in configuration files
  // An ACK of new data outside recovery and without ECE: cwnd grows or stays.
  void (*on_ack)(Subject& s, const Acked& acked);
  // The network is congested with `flight` octets in flight: returns the new window and stores what
  // the controller needs later. cwnd still has its old value; the caller sets cwnd and ssthresh and
  // applies their minima.
  Bytes (*reduced)(Subject& s, Bytes flight, Signal signal);
  // The connection starts, cwnd is the initial window; null: nothing to do.
  void (*begin)(Subject& s) = nullptr;
  // Every ACK of new data, before all other processing; null: nothing to do.
  void (*on_any_ack)(Subject& s, const Acked& acked) = nullptr;
  // An ECE reduces cwnd as much as a loss does, so that a loss in the same window needs no further
  // reduction (RFC 3168 6.1.2). False: it reduces less (RFC 8257 3.4).
  bool mark_is_as_loss = true;
  // Pacing rate in octets per second; null: pacing.hpp computes it from cwnd and RTT.
  std::uint64_t (*pacing_rate)(const Subject& s) = nullptr;
};

}  // namespace lockstep::tcp::congestion
