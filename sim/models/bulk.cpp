// Bulk: writes as fast as the stack accepts.
#include "sim/models/bulk.hpp"

namespace lockstep::sim {

void BulkClient::opened(Desk& desk, Session& session) {
  session.goal = session.bytes;
  writable(desk, session);
}

void BulkClient::writable(Desk& desk, Session& session) {
  if (session.established && write_to_goal(desk, session)) {
    part(desk, session, spec().close_mode);
  }
}

}  // namespace lockstep::sim
