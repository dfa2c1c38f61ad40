// Asks every model and every connection at the end of a run why it is not done.
#include "sim/checkers/liveness.hpp"

#include "sim/kernel/kernel.hpp"

namespace lockstep::sim {

bool LivenessChecker::excused(const Kernel& kernel, const Flow& flow, Side side) {
  FlowEnd const& mine = flow.end(side);
  FlowEnd const& theirs = flow.end(other(side));
  if (flow.foreign) {
    return true;  // whoever called speaks for ever, or never again
  }
  bool const alone = !theirs.begun || !theirs.open;
  Stack const& stack = kernel.host(mine.host).stack();
  ConnectionInfo const info = stack.inspect(mine.id);
  bool const outstanding = info.send.una != info.send.nxt || !info.send.queued.empty();
  bool const for_ever = stack.config().tcp.user_timeout.ns == 0;
  // Keep-alives run where text may still be expected of us or of the peer's own accord.
  bool const watched =
      stack.config().tcp.keepalive &&
      (info.state == tcp::State::established || info.state == tcp::State::close_wait ||
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

}  // namespace lockstep::sim
