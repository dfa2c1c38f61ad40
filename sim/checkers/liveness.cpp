// Reports the connections that are still open at the end of a run, and those that stall.
#include "sim/checkers/liveness.hpp"

#include <algorithm>

#include "sim/kernel/kernel.hpp"

namespace lockstep::sim {

bool LivenessChecker::excused(const Kernel& kernel, const Flow& flow, Side side) {
  FlowEnd const& mine = flow.end(side);
  FlowEnd const& theirs = flow.end(other(side));
  if (flow.foreign) {
    return true;  // the peer is not an application of this world: it may stay open for ever
  }
  bool const alone = !theirs.begun || !theirs.open;
  if (mine.station) {
    return alone;
  }
  Stack const& stack = kernel.host(mine.host).stack();
  ConnectionInfo const info = stack.inspect(mine.id);
  bool const outstanding = info.send.una != info.send.nxt || !info.send.queued.empty();
  bool const for_ever = stack.config().tcp.user_timeout.ns == 0;
  // In these states keep-alives detect a peer that is gone.
  bool const watched = stack.config().tcp.keepalive && (info.state == tcp::State::established ||
                                                        info.state == tcp::State::close_wait ||
                                                        info.state == tcp::State::fin_wait_2);
  return alone && info.exists && !watched && (!outstanding || for_ever);
}

void LivenessChecker::ended(const Kernel& kernel) {
  if (kernel.done() || (alteration_ != nullptr && alteration_->header_altered())) {
    return;
  }
  std::uint64_t open = 0;
  for (const Flow& flow : kernel.ledger().flows()) {
    for (Side const side : {Side::opener, Side::acceptor}) {
      if (flow.joined || !flow.end(side).open) {
        continue;
      }
      ++open;
      if (!excused(kernel, flow, side)) {
        findings_.add({CheckerKind::liveness, kernel.now(), flow.app,
                       side == Side::opener ? "the caller's connection never ended"
                                            : "the called side's connection never ended",
                       flow.end(other(side)).written, flow.end(side).read});
      }
    }
  }
  if (open == 0) {
    findings_.add({CheckerKind::liveness, kernel.now(), kernel.world().name,
                   "an application is not done, though no connection is open", 0, 0});
  }
}

bool ServiceChecker::is_served(const Flow& flow, std::array<Duration, 2> msl) {
  for (Side const side : {Side::opener, Side::acceptor}) {
    FlowEnd const& mine = flow.end(side);
    FlowEnd const& theirs = flow.end(other(side));
    Duration const time_wait = msl[static_cast<std::uint32_t>(other(side))] * 2;
    bool const forgotten = mine.cause == Cause::reset && theirs.cause == Cause::finished &&
                           mine.ended > theirs.ended + time_wait;
    if (mine.read != theirs.written || (mine.cause != Cause::finished && !forgotten)) {
      return false;
    }
  }
  return true;
}

void ServiceChecker::ended(const Kernel& kernel) {
  if (!kernel.world().served) {
    return;
  }
  for (const Flow& flow : kernel.ledger().flows()) {
    if (flow.foreign || flow.joined) {
      continue;
    }
    FlowEnd const& opener = flow.end(Side::opener);
    FlowEnd const& acceptor = flow.end(Side::acceptor);
    const auto msl = [&](const FlowEnd& end) {
      return kernel.world().hosts[end.host.value].config.tcp.msl;
    };
    if (!is_served(flow, {msl(opener), msl(acceptor)})) {
      findings_.add({CheckerKind::liveness, kernel.now(), flow.app,
                     "a connection failed in a world where all are to be served", opener.written,
                     acceptor.read});
    }
  }
}

bool ProgressChecker::idles(const ConnectionInfo& info) {
  bool const sends = info.state == tcp::State::established || info.state == tcp::State::close_wait;
  return info.exists && !info.detached && sends && !info.send.queued.empty() &&
         info.send.una == info.send.nxt && !info.send.wnd.empty();
}

ConnectionInfo ProgressChecker::seen(const Kernel& kernel, HostIndex host, ConnectionId id) const {
  return kernel.host(host).stack().inspect(id);
}

void ProgressChecker::look(const Kernel& kernel, HostIndex host) {
  hosts_.resize(kernel.host_count());
  std::vector<Watched>& watched = hosts_[host.value];
  std::vector<Routes::Route> const& routes = kernel.host(host).state().routes.all();
  watched.resize(std::max(watched.size(), routes.size()));
  Host const& at = kernel.host(host);
  // A fault that stalls the host excuses it until the fault ends.
  bool const held = at.ring_full(kernel.now()) || at.stalled_until(kernel.now()) > kernel.now();
  for (std::size_t i = 0; i < routes.size(); ++i) {
    Watched& each = watched[i];
    if (each.id != routes[i].id) {
      each = {routes[i].id, Instant::never()};
    }
    if (routes[i].flow == FlowId{} || held || !idles(seen(kernel, host, each.id))) {
      each.since = Instant::never();
    } else if (each.since.is_never()) {
      each.since = kernel.now();
    } else if (kernel.now().since(each.since) > patience) {
      findings_.add({CheckerKind::liveness, kernel.now(), at.spec().name,
                     "data is queued and the window is open, but nothing is in flight", patience.ns,
                     kernel.now().since(each.since).ns});
      each.since = kernel.now();
    }
  }
}

void ProgressChecker::turned(const Kernel& kernel, HostIndex host, Outcome) { look(kernel, host); }

void ProgressChecker::ended(const Kernel& kernel) {
  for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
    look(kernel, {i});
  }
}

}  // namespace lockstep::sim
