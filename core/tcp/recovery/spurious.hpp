// Detection of spurious recoveries and timeouts: by F-RTO (RFC 5682), D-SACK (2883), Eifel (3522).
#pragma once

#include "core/tcp/output.hpp"
#include "core/tcp/recovery/scoreboard.hpp"

namespace lockstep::tcp::spurious {

// cwnd is about to be reduced for a loss: stores the state before it. `timeout`: the timer fired.
void remember(Engine& e, Connection& c, bool timeout);
// There is a further reason for the last reduction: it is not undone.
void keep_reduction(InFlightState& a);
// Data is retransmitted.
void note_again(const Engine& e, const Connection& c, InFlightState& a, const Range& data);
// The same, while an echo is awaited.
void note_departure(const Engine& e, const Connection& c, InFlightState& a,
                    const SegmentPlan& plan);
// Whether F-RTO is testing the timeout: new data is sent instead of retransmissions.
inline bool watches(const InFlightState& a) { return a.watch == TimeoutWatch::news; }

// An ACK that the scoreboard contains; shows whether the timeout or recovery was spurious.
struct Shown {
  bool advances = false;   // SND.UNA advanced
  bool duplicate = false;  // it acknowledges nothing new
  bool marked = false;     // it has ECE
};
// Returns whether cwnd was restored in such a way that this ACK must not change it further.
bool on_ack(Engine& e, Connection& c, Scoreboard& board, AckSample& news,
            const wire::Segment& segment, Shown shown);
// The same without a scoreboard: SND.UNA advanced by `newly`, or the ACK is a duplicate.
void on_plain_ack(Engine& e, Connection& c, const wire::Segment& segment, Bytes newly);
void on_plain_duplicate(Engine& e, Connection& c);

// The same with nothing in flight: the ACK reports `news.duplicate`. Returns whether that was
// retransmitted in the last recovery.
bool on_idle_report(Engine& e, Connection& c, AckSample& news, bool marked);
// Whether such a report is awaited, for which the active part is kept; not if it is scarce.
inline bool awaits_report(const Engine& e, const InFlightState& a) {
  return a.undo_armed && !a.undo_octets.empty() && e.state->now < a.undo_until &&
         2 * e.actives.available() >= e.config.active_max.value;
}

// The active part is released and allocated again: meanwhile the estimate of before a spurious
// timeout is stored in the connection until the first sample of new data.
void rest_estimate(Connection& c, const InFlightState& a);
void resume_estimate(Connection& c, InFlightState& a);
// An RTT was measured by an ACK of all before `ack`, after a spurious timeout.
void adapt_timeout(const Engine& e, Connection& c, Sequence ack, Duration measured);

}  // namespace lockstep::tcp::spurious
