// Echo: reads no more than it can write back at once, so that it buffers nothing itself.
#include "sim/models/echo.hpp"

namespace lockstep::sim {

void EchoClient::opened(Desk& desk, Session& session) {
  session.goal = session.bytes;
  writable(desk, session);
  readable(desk, session);
}

void EchoClient::writable(Desk& desk, Session& session) {
  if (session.established) {
    write_to_goal(desk, session);
  }
}

void EchoClient::readable(Desk& desk, Session& session) {
  read_all(desk, session);
  if (session.established && end_of(desk, session).read >= session.bytes) {
    part(desk, session, spec().close_mode);
  }
}

void EchoServer::opened(Desk& desk, Session& session) {
  // Its stream is the client's stream.
  end_of(desk, session).shift = desk.ledger.flow(session.flow).end(Side::opener).shift;
}

void EchoServer::echo(Desk& desk, Session& session) {
  if (end_of(desk, session).finished_writing) {
    return;
  }
  while (write_to_goal(desk, session)) {
    std::uint64_t const taken = read_some(desk, session, desk.stack.writable(session.id).count);
    session.goal += taken;
    if (taken == 0) {
      break;
    }
  }
  FlowEnd const& end_now = end_of(desk, session);
  bool const all_said = end_now.written == session.goal;
  if (end_now.peer_finished && all_said && desk.stack.unread(session.id).empty()) {
    part(desk, session, CloseMode::finish);
  }
}

}  // namespace lockstep::sim
