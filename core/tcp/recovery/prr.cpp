// Proportional Rate Reduction (RFC 9937, or 6937): how much each ACK in recovery allows us to send.
#include "core/tcp/recovery/prr.hpp"

#include <algorithm>

#include "core/tcp/acknowledgement.hpp"

namespace lockstep::tcp::prr {
namespace {

struct Delivery {
  std::uint64_t newly;  // by this ACK
  std::uint64_t all;    // prr_delivered, with it
  std::uint64_t out;    // prr_out
};

// RFC 6937's limit while pipe is below ssthresh.
std::uint64_t limit_by_6937(const Engine& e, const Connection& c, const Delivery& d) {
  //= rfc6937#3
  //# 6937:PRR-4, 6937:PRR-5 slow start back to ssthresh: one segment per ACK beyond what was
  //# delivered, or with the conservative bound none
  //= rfc6937#4
  //# 6937:PRR-8 so no more is sent than was delivered
  std::uint64_t const banked = d.all - std::min(d.all, d.out);
  return e.config.prr_conservative ? banked : std::max(banked, d.newly) + c.mss;
}

// The same limit by RFC 9937.
std::uint64_t limit_by_9937(const Connection& c, const Delivery& d, bool safe) {
  //= rfc9937#6.2
  //# 9937:PRR-5 as much as was delivered, in total or by this ACK, while losses continue
  std::uint64_t const banked = d.all - std::min(d.all, d.out);
  //= rfc9937#6.2
  //# 9937:PRR-6 one segment more if SND.UNA advances and no new loss was found
  return std::max(banked, d.newly) + (safe ? c.mss : 0u);
}

}  // namespace

void begin(const Engine& e, const Connection& c, InFlightState& a, const AckSample& news) {
  //= rfc6937#3
  //# 6937:PRR-1 both counters start at zero, RecoverFS is SND.NXT - SND.UNA
  //= rfc9937#6.1
  //# 9937:PRR-1 the same
  a.prr_flight = flight_size(c);
  a.prr_delivered = {};
  a.prr_out = {};
  if (!e.config.prr_rfc6937) {
    //= rfc9937#6.1
    //# 9937:PRR-2 RecoverFS excludes what was SACKed before this ACK
    a.prr_flight = a.prr_flight - a.board.sacked + news.delivered;
  }
}

void on_ack(const Engine& e, Connection& c, InFlightState& a, const AckSample& news, bool safe) {
  //= rfc6937#3
  //# 6937:PRR-2 the advance of SND.UNA plus newly SACKed octets
  //= rfc9937#6.2
  //# 9937:PRR-3 the same
  a.prr_delivered += news.delivered;
  Delivery const d{news.delivered.count, a.prr_delivered.count, a.prr_out.count};
  std::uint64_t const target = c.congestion.ssthresh.count;
  std::uint64_t const pipe = a.board.pipe.count;
  std::uint64_t send = 0;
  if (pipe > target) {
    //= rfc6937#3
    //# 6937:PRR-3 reduces the flight to ssthresh within a round trip
    //= rfc6937#3.1
    //# 6937:PRR-7 a segment for every second ACK if the flight is to be halved
    //= rfc9937#6.2
    //# 9937:PRR-4 in proportion to what is delivered
    std::uint64_t const flight = std::max<std::uint64_t>(a.prr_flight.count, 1);
    std::uint64_t const due = (d.all * target + flight - 1) / flight;
    send = due - std::min(due, d.out);
  } else {
    std::uint64_t const limit =
        e.config.prr_rfc6937 ? limit_by_6937(e, c, d) : limit_by_9937(c, d, safe);
    //= rfc9937#6.2
    //# 9937:PRR-7 never beyond ssthresh
    send = std::min(target - pipe, limit);
  }
  if (d.out == 0 && send == 0 && !e.config.prr_rfc6937) {
    //= rfc9937#6.2
    //# 9937:PRR-8 the first retransmission is sent at once
    send = c.mss;
  }
  //= rfc6937#3
  //# 6937:PRR-6 an ACK allows no more than that
  //= rfc9937#6.2
  //# 9937:PRR-9 nor by RFC 9937
  // At least one segment: with an empty pipe nothing else would make the peer send an ACK.
  c.congestion.cwnd = {static_cast<std::uint32_t>(std::max<std::uint64_t>(pipe + send, c.mss))};
}

}  // namespace lockstep::tcp::prr
