// Checks the invariants of stacks and connections after every event.
#include "sim/checkers/invariants.hpp"

#include "sim/kernel/kernel.hpp"

namespace lockstep::sim {

std::string_view what_is_wrong(const ConnectionInfo& info, const tcp::Config& config) {
  if (!info.exists || info.detached) {
    return {};
  }
  if (info.send.una.after(info.send.nxt)) {
    return "SND.UNA is beyond SND.NXT";
  }
  if (info.send.wnd > info.send.wnd_max) {
    return "SND.WND is larger than the largest window seen";
  }
  if (info.state == tcp::State::closed || info.state == tcp::State::listen ||
      info.state == tcp::State::time_wait) {
    return "a connection that a model knows is in a state that has no such record";
  }
  if (tcp::synchronized(info.state)) {
    if (info.receive.wnd != info.receive.edge.since(info.receive.nxt)) {
      return "RCV.WND is not the distance from RCV.NXT to the right edge";
    }
    if (info.cwnd < info.send.mss) {
      return "the congestion window is under one segment";
    }
    if (info.send.una == info.send.iss) {
      return "synchronized, but our SYN is not acknowledged";
    }
  }
  if (info.rto > config.rto_max) {
    return "RTO is beyond its maximum";
  }
  if (info.send.una != info.send.nxt && info.retransmit_due.is_never() &&
      info.persist_due.is_never()) {
    return "data is in flight and no timer runs";
  }
  return {};
}

ConnectionInfo InvariantChecker::seen(const Kernel& kernel, HostIndex host, ConnectionId id) const {
  return kernel.host(host).stack().inspect(id);
}

void InvariantChecker::look(const Kernel& kernel, HostIndex host, ConnectionId id) {
  Host const& at = kernel.host(host);
  std::string_view const wrong = what_is_wrong(seen(kernel, host, id), at.stack().config().tcp);
  if (!wrong.empty()) {
    findings_.add({CheckerKind::invariants, kernel.now(), at.spec().name, wrong, 0, 0});
  }
}

void InvariantChecker::on_event(const Kernel& kernel, HostIndex host, const Event& event) {
  kernel.host(host).stack().check_invariants();
  look(kernel, host, event.id);
}

void InvariantChecker::turned(const Kernel& kernel, HostIndex host, Outcome) {
  Host const& at = kernel.host(host);
  at.stack().check_invariants();
  for (const Routes::Route& route : at.state().routes.all()) {
    if (route.flow != FlowId{}) {
      look(kernel, host, route.id);
    }
  }
  last_turns_.resize(kernel.host_count());
  if (at.stack().now() < last_turns_[host.value]) {
    findings_.add({CheckerKind::invariants, kernel.now(), at.spec().name,
                   "a stack's clock ran backwards", last_turns_[host.value].ns,
                   at.stack().now().ns});
  }
  last_turns_[host.value] = at.stack().now();
}

}  // namespace lockstep::sim
