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
  CongestionVariables& v;  // cwnd and ssthresh above all
  const Config& config;
  Bytes smss;              // the largest text that we send in a segment
  Instant now;
};

// One ACK of new data.
struct Acked {
  Bytes newly;  // octets that it acknowledges
};

// Why the window has to shrink.
enum class Signal : std::uint8_t { loss, timeout };

// One controller. Every function is pure but for what Subject refers to.
struct Controller {
  std::string_view name;  // as files write it
  // An ACK of new data outside of recovery: cwnd grows, or stays.
  void (*on_ack)(Subject& s, const Acked& acked);
  // The network is congested, `flight` octets being out: the new ssthresh, and what has to be
  // remembered. cwnd is still the old one; the caller then sets it (recovery, or one segment).
  Bytes (*reduced)(Subject& s, Bytes flight, Signal signal);
};

}  // namespace lockstep::tcp::congestion
