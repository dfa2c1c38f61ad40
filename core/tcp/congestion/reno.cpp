// Congestion control by RFC 5681 with RFC 6582's NewReno: how cwnd and ssthresh answer events.
#include "core/tcp/congestion/reno.hpp"

#include <algorithm>

#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/hystart.hpp"

namespace lockstep::tcp::reno {

using congestion::capped;

Flight flight_of(const Connection& c) { return {flight_size(c), Bytes{c.mss}}; }

Bytes initial_window(Bytes smss, InitialWindow rule) {
  if (rule == InitialWindow::rfc6928) {
    //= rfc6928#2
    //# 6928:IW-1 min(10 * MSS, max(2 * MSS, 14600))
    return {std::min(10 * smss.count, std::max(2 * smss.count, 14'600u))};
  }
  //= rfc5681#3.1
  //# 5681:CC-3 two, three or four segments, depending on their size
  std::uint32_t const segments = smss.count > 2190 ? 2 : smss.count > 1095 ? 3 : 4;
  return {segments * smss.count};
}

void begin(CongestionVariables& c, Bytes smss, Count syn_timeouts, const Config& config) {
  //= rfc5681#3.1
  //# 5681:CC-4 ACKs of the handshake do not increase cwnd
  c.cwnd = initial_window(smss, config.initial_window);
  //= rfc5681#3.1
  //# 5681:CC-5 one segment after a lost SYN or SYN-ACK
  // RFC 6928 section 2 ignores the first such loss.
  Count const forgiven{config.initial_window == InitialWindow::rfc5681 ? 0u : 1u};
  if (syn_timeouts > forgiven) {
    c.cwnd = smss;
  }
  //= rfc5681#3.1
  //# 5681:CC-7 ssthresh starts arbitrarily high
  c.ssthresh = {congestion::cwnd_max};
  c.acked = {};
}

void slow_start(CongestionVariables& c, Growth growth) {
  //= rfc5681#3.1
  //# 5681:CC-8, 5681:CC-33 at most one segment per ACK, and no more than it acknowledged
  // RFC 3465 2.2 permits several; they end at ssthresh.
  std::uint64_t const cwnd = c.cwnd.count;
  std::uint64_t const one = cwnd + least(growth.newly, growth.smss).count;
  std::uint64_t const several = std::min(cwnd + least(growth.newly, growth.slow_start_most).count,
                                         std::uint64_t{c.ssthresh.count});
  c.cwnd = capped(std::max(one, several));
}

void avoid(CongestionVariables& c, Bytes newly, Bytes smss) {
  //= rfc5681#3.1
  //# 5681:CC-9, 5681:CC-10, 5681:CC-34 one segment per round trip, by byte counting
  c.acked = capped(std::uint64_t{c.acked.count} + newly.count);
  if (c.acked >= c.cwnd) {
    c.acked -= c.cwnd;
    c.cwnd = capped(std::uint64_t{c.cwnd.count} + smss.count);
  }
}

void enter_recovery(CongestionVariables& c, Bytes smss) {
  //= rfc5681#3.2
  //# 5681:CC-21 add the three segments that have left the network to cwnd
  c.cwnd = capped(std::uint64_t{c.ssthresh.count} + 3 * smss.count);
  c.recovering = true;
  c.partial_seen = false;
  c.acked = {};
}

void inflate(CongestionVariables& c, Flight flight) {
  //= rfc5681#3.2
  //# 5681:CC-22, 5681:CC-46 one more segment has left the network; inflate by at most the flight
  std::uint64_t const most = std::uint64_t{c.ssthresh.count} + flight.size.count;
  c.cwnd = capped(std::min(std::uint64_t{c.cwnd.count} + flight.smss.count,
                           std::max<std::uint64_t>(most, c.cwnd.count)));
}

void on_partial_ack(CongestionVariables& c, Bytes newly, Bytes smss) {
  //= rfc6582#3.2
  //# 6582:NR-2 deflate cwnd by what was acknowledged, add one segment
  c.cwnd -= newly;
  if (newly >= smss) {
    c.cwnd += smss;
  }
  c.cwnd = most(c.cwnd, smss);
}

void leave_recovery(CongestionVariables& c, Flight flight) {
  //= rfc6582#3.2
  //# 6582:NR-3 min(ssthresh, max(FlightSize, SMSS) + SMSS)
  //= rfc6582#6
  //# 6582:NR-12 this also limits the burst at the end of recovery
  //# 6582:NR-13 valid until the next ACK or timeout
  //= rfc5681#3.2
  //# 5681:CC-24 cwnd is deflated to ssthresh at most
  //= rfc5681#4.3
  //# 5681:CC-30 congestion avoidance continues from there
  Bytes const room = most(flight.size, flight.smss) + flight.smss;
  c.cwnd = least(c.ssthresh, room);
  c.recovering = false;
  c.partial_seen = false;
  c.acked = {};
}

void on_timeout(CongestionVariables& c, Bytes smss) {
  //= rfc5681#3.1
  //# 5681:CC-12, 5681:CC-41 the loss window is one segment; slow start begins
  c.cwnd = smss;
  c.acked = {};
  c.duplicates = 0;
  //= rfc6582#3.2
  //# 6582:NR-5 a timeout ends fast recovery
  c.recovering = false;
  c.partial_seen = false;
}

Bytes slow_start_most(const Connection& c, Bytes newly, const Config& config) {
  // RFC 3465 2.3: one segment per ACK of what was sent before a loss, as it may have arrived long
  // ago.
  bool const repaired = (c.send.una - newly).after(c.congestion.recover);
  std::uint64_t const segments = repaired ? config.slow_start_segments.value : 1;
  return capped(segments * c.mss);
}

void grow(CongestionVariables& c, Growth growth) {
  if (c.cwnd < c.ssthresh) {
    slow_start(c, growth);
  } else {
    avoid(c, growth.newly, growth.smss);
  }
}

void on_ack(congestion::Subject& s, const congestion::Acked& acked) {
  //= rfc5681#3.1
  //# 5681:CC-39, 5681:CC-2 slow start below ssthresh, congestion avoidance at or above it
  if (s.v.cwnd < s.v.ssthresh) {
    hystart::slow_start(s, acked);
  } else {
    avoid(s.v, acked.newly, s.smss);
  }
}

Bytes reduced(congestion::Subject&, Bytes flight, congestion::Signal) {
  //= rfc5681#3.1
  //# 5681:CC-11, 5681:CC-40 half the flight size
  //= rfc3168#6.1.2
  //# 3168:ECN-17 for ECE as well
  return {flight.count / 2};
}

void on_idle(CongestionVariables& c, Bytes smss, const Config& config) {
  //= rfc5681#4.1
  //# 5681:CC-25 after an idle period cwnd is at most the restart window
  c.cwnd = least(c.cwnd, initial_window(smss, config.initial_window));
}

}  // namespace lockstep::tcp::reno
