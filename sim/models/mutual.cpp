// Mutual: the same program on both sides.
#include "sim/models/mutual.hpp"

namespace lockstep::sim {

void Mutual::opened(Desk& desk, Session& session) {
  session.goal = session.bytes;
  writable(desk, session);
}

void Mutual::writable(Desk& desk, Session& session) {
  if (session.established && write_to_goal(desk, session)) {
    part(desk, session, spec().close_mode);
  }
}

}  // namespace lockstep::sim
