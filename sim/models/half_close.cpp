// Half close: one direction after the other.
#include "sim/models/half_close.hpp"

namespace lockstep::sim {

void HalfCloseClient::opened(Desk& desk, Session& session) {
  session.goal = session.bytes;
  writable(desk, session);
}

void HalfCloseClient::writable(Desk& desk, Session& session) {
  if (session.established && write_to_goal(desk, session)) {
    part(desk, session, CloseMode::finish);
  }
}

void HalfCloseServer::peer_finished(Desk& desk, Session& session) {
  read_all(desk, session);
  session.goal = spec().reply_bytes;
  writable(desk, session);
}

void HalfCloseServer::writable(Desk& desk, Session& session) {
  if (end_of(desk, session).peer_finished && write_to_goal(desk, session)) {
    part(desk, session, CloseMode::finish);
  }
}

}  // namespace lockstep::sim
