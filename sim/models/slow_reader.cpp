// Slow reader: reads on a timer, not on arrival.
#include "sim/models/slow_reader.hpp"

namespace lockstep::sim {

void SlowReader::opened(Desk& desk, Session& session) {
  wake(session, desk.now + spec().read_after);
}

void SlowReader::due(Desk& desk, Session& session) {
  read_some(desk, session, spec().read_bytes);
  if (end_of(desk, session).peer_finished && desk.stack.unread(session.id).empty()) {
    part(desk, session, CloseMode::finish);
    return;
  }
  // A connection without unread data schedules no reads, so an idle one costs nothing.
  if (!desk.stack.unread(session.id).empty()) {
    look_again(desk, session);
  }
}

void SlowReader::look_again(Desk& desk, Session& session) {
  if (session.established && !session.waiting) {
    Duration const pause = spec().read_every;
    wake(session, desk.now + (pause.ns == 0 ? Duration{1} : pause));
  }
}

}  // namespace lockstep::sim
