// Chatter: the client sends requests; the server answers each complete request.
#include "sim/models/chatter.hpp"

namespace lockstep::sim {

void ChatterClient::ask(Desk& desk, Session& session) {
  if (session.round == spec().rounds) {
    part(desk, session, spec().close_mode);
    return;
  }
  ++session.round;
  session.goal += spec().bytes;
  write_to_goal(desk, session);
  // A response of zero length is complete at once.
  if (spec().reply_bytes == 0) {
    wake(session, desk.now + pause_of(session.lane));
  }
}

void ChatterClient::writable(Desk& desk, Session& session) {
  if (session.established) {
    write_to_goal(desk, session);
  }
}

void ChatterClient::readable(Desk& desk, Session& session) {
  bool const any_read = read_some(desk, session, ~std::uint64_t{0}) != 0;
  bool const whole = end_of(desk, session).read == session.round * spec().reply_bytes;
  if (!any_read || !whole || !session.established) {
    return;
  }
  Duration const pause = pause_of(session.lane);
  if (pause.ns == 0) {
    ask(desk, session);
  } else {
    wake(session, desk.now + pause);
  }
}

void ChatterServer::readable(Desk& desk, Session& session) {
  read_all(desk, session);
  std::uint64_t const request = spec().bytes == 0 ? 1 : spec().bytes;
  session.goal = end_of(desk, session).read / request * spec().reply_bytes;
  writable(desk, session);
}

void ChatterServer::peer_finished(Desk& desk, Session& session) { readable(desk, session); }

void ChatterServer::writable(Desk& desk, Session& session) {
  // An incomplete request gets no response.
  if (write_to_goal(desk, session) && end_of(desk, session).peer_finished) {
    part(desk, session, CloseMode::finish);
  }
}

}  // namespace lockstep::sim
