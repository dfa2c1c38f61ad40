// Names as in Linux's `ss` where it has the value, else as in ConnectionInfo.
#include "tools/lib/control/lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/base/output/utf8.hpp"
#include "tools/base/process/version.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::control {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& json) { return json.dump() + "\n"; }

/// The timer that is due first, with the names of `ss`.
Json timer_of(const ConnectionInfo& info, Instant now) {
  struct Timer {
    const char* name;
    Instant due;
    std::uint32_t count;
  };
  Timer first{"", Instant::never(), 0};
  for (Timer const& each :
       {Timer{"on", info.retransmit_due, info.retries},
        Timer{"persist", info.persist_due, info.persist_backoff},
        Timer{"delayed-ack", info.delayed_ack_due, 0}, Timer{"timewait", info.time_wait_due, 0}}) {
    first = each.due < first.due ? each : first;
  }
  if (first.due.is_never()) {
    return nullptr;
  }
  return {{"name", first.name}, {"left_ns", first.due.since(now).ns}, {"count", first.count}};
}

void add_congestion(const ConnectionInfo& info, Json& out) {
  out["congestion"] =
      std::string(tcp::congestion_names[static_cast<std::uint32_t>(info.congestion)]);
  out["mss"] = info.send.mss.count;
  out["cwnd"] = info.cwnd.count;
  // Before the first loss it is larger than any window (RFC 5681 3.1).
  constexpr std::uint64_t window_max = std::uint64_t{65'535} << 14;
  out["ssthresh"] = info.ssthresh.count > window_max ? Json(nullptr) : Json(info.ssthresh.count);
  out["srtt_ns"] = info.srtt.ns;
  out["rttvar_ns"] = info.rttvar.ns;
  out["rto_ns"] = info.rto.ns;
  out["min_rtt_ns"] = info.least_rtt.ns;
  out["pacing_octets_a_second"] = info.pacing_rate;
  out["in_flight"] = info.send.nxt.value - info.send.una.value;
  out["lost"] = info.lost.count;
  out["sacked"] = info.sacked.count;
  out["retransmissions"] = info.retransmissions;
  out["send_window"] = info.send.wnd.count;
  out["receive_window"] = info.receive.wnd.count;
  out["out_of_order"] = info.receive.out_of_order.count;
  out["segments_out"] = info.segments_sent;
  out["segments_in"] = info.segments_received;
}

}  // namespace

std::string head_line(const Identity& who) {
  return line_of({{"lockstep", tools::version},
                  {"pid", getpid()},
                  {"role", who.role},
                  {"interface", tools::utf8_only(who.interface)},
                  {"shards", who.shards.value}});
}

std::string connection_line(const ConnectionInfo& info, ShardId shard, Instant now) {
  Json out;
  out["state"] = tcp::name_of(info.state);
  out["recv_q"] = info.receive.unread.count;
  out["send_q"] = info.send.queued.count;
  out["local"] = tools::text_of(info.tuple.local.address);
  out["local_port"] = info.tuple.local.port.value;
  out["remote"] = tools::text_of(info.tuple.remote.address);
  out["remote_port"] = info.tuple.remote.port.value;
  out["shard"] = shard.value;
  out["timer"] = timer_of(info, now);
  if (info.state != tcp::State::listen && info.state != tcp::State::time_wait) {
    add_congestion(info, out);
  }
  return line_of(out);
}

std::string end_line(std::uint64_t connections) { return line_of({{"end", connections}}); }

std::string error_line(const std::string& text) { return line_of({{"error", text}}); }

}  // namespace lockstep::control
