// Applies events of connections to the two ends of their flow in the ledger.
#include "tools/lib/sim_apps/app_ledger.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace lockstep::tools {
namespace {

using sim::Desk;
using sim::FlowEnd;
using sim::FlowId;
using sim::Side;

// With more connections than this, a connection is inspected only when it has an event.
constexpr std::size_t looked_at_max = 64;

FlowEnd& end_of(Desk& desk, ConnectionId id) {
  sim::Routes::Route const* const route = desk.routes.find(id);
  CHECK(route != nullptr);
  return desk.ledger.flow(route->flow).end(route->side);
}

FourTuple of_opener(const FourTuple& tuple) { return {tuple.remote, tuple.local}; }

}  // namespace

void AppLedger::add(Desk& desk, ConnectionId id, FlowId flow, Side side) {
  desk.routes.add({id, flow, side, desk.model, 0});
  FlowEnd& end = end_of(desk, id);
  end = FlowEnd{};
  end.begun = end.open = true;
  end.host = desk.host;
  end.id = id;
  end.began = desk.world_now;
  end.last = desk.stack.inspect(id);
  open_.push_back(id);
}

void AppLedger::called(Desk& desk, ConnectionId id) {
  sim::Routes::Route const* const route = desk.routes.find(id);
  if (route == nullptr || route->flow == FlowId{}) {
    ConnectionInfo const info = desk.stack.inspect(id);
    add(desk, id, desk.ledger.open({app_, info.tuple, info.send.iss, false}), Side::opener);
  }
}

void AppLedger::accept(Desk& desk, ConnectionId id) {
  ConnectionInfo const info = desk.stack.inspect(id);
  FourTuple const tuple = of_opener(info.tuple);
  FlowId flow = desk.ledger.find(tuple, info.receive.irs);
  bool const known = flow != FlowId{} && !desk.ledger.flow(flow).end(Side::acceptor).begun;
  if (!known) {
    flow = desk.ledger.open({app_, tuple, info.receive.irs, true});
  }
  add(desk, id, flow, Side::acceptor);
  // Data on the last segment of the handshake has not been counted yet.
  end_of(desk, id).last.receive.nxt = info.receive.irs.next();
}

void AppLedger::note(Desk& desk, ConnectionId id) {
  ConnectionInfo const info = desk.stack.inspect(id);
  if (!info.exists) {
    return;
  }
  FlowEnd& end = end_of(desk, id);
  bool const synchronized = !end.established.is_never();
  Sequence const counted = synchronized ? end.last.receive.nxt : info.receive.nxt;
  end.read += info.receive.nxt.since(counted).count;
  end.last = info;
}

void AppLedger::on_event(Desk& desk, const Event& event) {
  if (event.kind == EventKind::accepted) {
    accept(desk, event.id);
  }
  FlowEnd& end = end_of(desk, event.id);
  switch (event.kind) {
    case EventKind::accepted:
      end.established = desk.world_now;
      break;
    case EventKind::connected:
      // Received data is counted from the sequence number after the SYN.
      end.last.receive.nxt = desk.stack.inspect(event.id).receive.irs.next();
      end.established = desk.world_now;
      break;
    case EventKind::received:
      end.last_read = desk.world_now;
      break;
    case EventKind::acknowledged:
      end.written += event.bytes.count;
      end.acknowledged += event.bytes.count;
      break;
    case EventKind::closed:
      end.open = false;
      end.ended = desk.world_now;
      end.cause = event.cause;
      std::erase(open_, event.id);
      return;
    default:
      break;
  }
  note(desk, event.id);
  if (event.kind == EventKind::acknowledged && end.last.srtt.ns != 0) {
    end.rtt.add(end.last.srtt);
  }
  if (event.kind == EventKind::peer_finished) {
    end.peer_finished = true;
    --end.read;  // The FIN occupies a sequence number.
  }
}

void AppLedger::spoilt(Desk& desk, ConnectionId id) {
  FlowEnd& end = end_of(desk, id);
  end.first_wrong = end.intact ? end.read : end.first_wrong;
  end.intact = false;
}

void AppLedger::turned(Desk& desk) {
  if (open_.size() <= looked_at_max) {
    for (ConnectionId const id : open_) {
      note(desk, id);
    }
  }
}

}  // namespace lockstep::tools
