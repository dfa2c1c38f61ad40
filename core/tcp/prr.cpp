// Proportional Rate Reduction (RFC 6937): how much each ACK of a recovery lets out.
#include "core/tcp/prr.hpp"

#include <algorithm>

namespace lockstep::tcp::prr {

//= rfc6937#3
//# 6937:PRR-1 both counts begin at zero, RecoverFS is SND.NXT - SND.UNA
void begin(Active& a, Bytes flight) {
  a.prr_flight = flight;
  a.prr_delivered = {};
  a.prr_out = {};
}

void on_ack(const Engine& e, Connection& c, Active& a, const AckNews& news) {
  //= rfc6937#3
  //# 6937:PRR-2 what SND.UNA moved by and what was newly SACKed
  a.prr_delivered += news.delivered;
  std::uint64_t const delivered = a.prr_delivered.count;
  std::uint64_t const out = a.prr_out.count;
  std::uint64_t const target = c.congestion.ssthresh.count;
  std::uint64_t const pipe = a.board.pipe.count;
  std::uint64_t send = 0;
  if (pipe > target) {
    //= rfc6937#3
    //# 6937:PRR-3 as much as shrinks the flight to ssthresh within a round trip
    //= rfc6937#3.1
    //# 6937:PRR-7 a segment for each second ACK, if half of it is to go
    std::uint64_t const flight = std::max<std::uint64_t>(a.prr_flight.count, 1);
    std::uint64_t const due = (delivered * target + flight - 1) / flight;
    send = due - std::min(due, out);
  } else {
    //= rfc6937#3
    //# 6937:PRR-4, 6937:PRR-5 back up to ssthresh: a segment an ACK beyond what was delivered, or
    //# by the conservative bound no more than that
    //= rfc6937#4
    //# 6937:PRR-8 so no more leaves than was delivered
    std::uint64_t const banked = delivered - std::min(delivered, out);
    std::uint64_t const limit =
        e.config.prr_conservative
            ? banked
            : std::max<std::uint64_t>(banked, news.delivered.count) + c.mss;
    send = std::min(target - pipe, limit);
  }
  //= rfc6937#3
  //# 6937:PRR-6 no ACK lets out more than that
  // An empty pipe holds one segment: nothing else would make the peer speak.
  c.congestion.cwnd = {static_cast<std::uint32_t>(std::max<std::uint64_t>(pipe + send, c.mss))};
}

}  // namespace lockstep::tcp::prr
