// A connection's variables as a Python dict.
#include "tools/python/binding/inspection.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "tools/base/text/units.hpp"

namespace nb = nanobind;

namespace lockstep::tools::python {
namespace {

nb::object instant(Instant at) { return at.is_never() ? nb::none() : nb::object(nb::int_(at.ns)); }

nb::tuple endpoint(const Endpoint& end) {
  return nb::make_tuple(text_of(end.address), end.port.value);
}

void add_send(const ConnectionInfo& info, nb::dict& out) {
  auto const& send = info.send;
  out["snd_una"] = send.una.value;
  out["snd_nxt"] = send.nxt.value;
  out["snd_wnd"] = send.wnd.count;
  out["snd_wl1"] = send.wl1.value;
  out["snd_wl2"] = send.wl2.value;
  out["snd_up"] = send.up.value;
  out["iss"] = send.iss.value;
  out["snd_wnd_max"] = send.wnd_max.count;
  out["snd_mss"] = send.mss.count;
  out["queued"] = send.queued.count;
  out["snd_urgent"] = send.urgent;
}

void add_receive(const ConnectionInfo& info, nb::dict& out) {
  auto const& receive = info.receive;
  out["rcv_nxt"] = receive.nxt.value;
  out["rcv_wnd"] = receive.wnd.count;
  out["rcv_up"] = receive.up.value;
  out["irs"] = receive.irs.value;
  out["rcv_edge"] = receive.edge.value;
  out["unread"] = receive.unread.count;
  out["out_of_order"] = receive.out_of_order.count;
  out["rcv_urgent"] = receive.urgent;
}

void add_options(const ConnectionInfo& info, nb::dict& out) {
  out["window_scale"] = info.options.window_scale;
  out["timestamps"] = info.options.timestamps;
  out["snd_wscale"] = info.options.send_scale.shift;
  out["rcv_wscale"] = info.options.receive_scale.shift;
  out["ts_recent"] = info.options.ts_recent;
  out["fast_open"] = info.options.fast_open;
  out["sack"] = info.sack;
  out["ecn_rx"] = info.ecn.rx;
  out["ecn_tx"] = info.ecn.tx;
  out["ecn_echo"] = info.ecn.echo;
  out["ecn_cwr_due"] = info.ecn.cwr_due;
}

void add_congestion(const ConnectionInfo& info, nb::dict& out) {
  out["cwnd"] = info.cwnd.count;
  out["ssthresh"] = info.ssthresh.count;
  out["recover"] = info.recover.value;
  out["fast_recovery"] = info.fast_recovery;
  out["pipe"] = info.pipe.count;
  out["sacked"] = info.sacked.count;
  out["lost"] = info.lost.count;
  out["sack_ranges"] = info.ranges;
  out["duplicate_acks"] = info.duplicate_acks;
  out["w_max"] = info.w_max.count;
  out["cwnd_prior"] = info.cwnd_prior.count;
  out["dctcp_alpha"] = info.alpha;
  out["pacing_rate"] = info.pacing_rate;
  out["reordering_seen"] = info.reordering_seen;
}

void add_time(const ConnectionInfo& info, nb::dict& out) {
  out["srtt_ns"] = info.srtt.ns;
  out["rttvar_ns"] = info.rttvar.ns;
  out["rto_ns"] = info.rto.ns;
  out["least_rtt_ns"] = info.least_rtt.ns;
  out["retries"] = info.retries;
  out["persist_backoff"] = info.persist_backoff;
  out["sent_at_ns"] = info.sent_at.ns;
  out["heard_at_ns"] = info.heard_at.ns;
  out["retransmit_due_ns"] = instant(info.retransmit_due);
  out["persist_due_ns"] = instant(info.persist_due);
  out["delayed_ack_due_ns"] = instant(info.delayed_ack_due);
  out["user_timeout_ns"] = info.user_timeout.ns;
}

}  // namespace

nb::dict inspection_of(const ConnectionInfo& info) {
  nb::dict out;
  std::string_view const state = name_of(info.state);
  out["state"] = nb::str(state.data(), state.size());
  out["local"] = endpoint(info.tuple.local);
  out["remote"] = endpoint(info.tuple.remote);
  out["passive"] = info.passive;
  out["detached"] = info.detached;
  add_send(info, out);
  add_receive(info, out);
  add_options(info, out);
  add_congestion(info, out);
  add_time(info, out);
  out["largest_heard"] = info.largest_heard.count;
  out["path_limited"] = info.path_limited;
  out["dscp"] = info.dscp;
  out["ttl"] = info.ttl;
  out["segments_sent"] = info.segments_sent;
  out["segments_received"] = info.segments_received;
  out["retransmissions"] = info.retransmissions;
  return out;
}

}  // namespace lockstep::tools::python
