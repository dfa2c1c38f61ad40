// What a congestion controller is: a row of functions, and what they are told.
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
  CongestionVariables& v;  // cwnd, ssthresh, and `kept`: for the life of the connection
  ControllerState& state;  // zero whenever data is sent for the first time since it was idle
  const Config& config;
  Bytes smss;  // the largest data that we send in a segment
  Instant now;
};

// One ACK of new data.
struct Acked {
  Bytes newly;           // octets that it acknowledges
  Sequence una;          // SND.UNA after it
  Sequence nxt;          // SND.NXT
  Duration srtt;         // zero: no sample yet
  bool marked = false;   // it carries ECE
  bool limited = false;  // the application, not cwnd, has bounded what is out in this round
  RateSample sample;     // valid only where wants_marks()
};

// Why the window has to shrink.
enum class Signal : std::uint8_t { loss, mark, timeout };

// One controller. Every function is pure but for what Subject refers to.
struct Controller {
  std::string_view name;  // as files write it
  // An ACK of new data outside of recovery and without ECE: cwnd grows, or stays.
  void (*on_ack)(Subject& s, const Acked& acked);
  // The network is congested, `flight` octets being out: the window from here on, and what has to
  // be remembered. cwnd is still the old one; the caller sets it, and ssthresh, each with its
  // least value.
  Bytes (*reduced)(Subject& s, Bytes flight, Signal signal);
  // The connection begins, cwnd is the initial window; null: nothing to be done.
  void (*begin)(Subject& s) = nullptr;
  // Every ACK of new data, before anything else is made of it; null: nothing to be done.
  void (*on_any_ack)(Subject& s, const Acked& acked) = nullptr;
  // Octets in a second at which data may leave; null: what pacing.hpp makes of cwnd and SRTT.
  std::uint64_t (*pacing_rate)(const Subject& s) = nullptr;
};

}  // namespace lockstep::tcp::congestion
