// Sessions: records connections, writes, reads and verifies, and schedules.
#include "sim/models/session.hpp"

#include <algorithm>

namespace lockstep::sim {
namespace {

// The round trip time is sampled once per this many acknowledged bytes.
constexpr std::uint64_t rtt_every_bytes = 65'536;

// With more connections than this, only closing ones are recorded after a timer's turn.
constexpr std::uint32_t noted_max = 64;

// Written before the handshake, so that Fast Open can send it on the SYN.
constexpr std::uint64_t early_bytes = 2'000;

std::uint32_t shift_of(const Session& session) {
  return Pattern::shift_of(
      {std::uint64_t{session.flow.value} * 2 + static_cast<std::uint64_t>(session.side)});
}

FourTuple turned_round(const FourTuple& tuple) { return {tuple.remote, tuple.local}; }

}  // namespace

Session& SessionModel::begin(Desk& desk, const Session& session) {
  std::uint32_t index = static_cast<std::uint32_t>(sessions_.size());
  if (free_.empty()) {
    sessions_.push_back(session);
  } else {
    index = free_.back();
    free_.pop_back();
    sessions_[index] = session;
  }
  ++open_;
  open_foreign_ += session.foreign ? 1 : 0;
  desk.routes.add({session.id, session.flow, session.side, desk.model, index});
  FlowEnd& end = end_of(desk, session);
  end = FlowEnd{};
  end.begun = true;
  end.open = true;
  end.host = desk.host;
  end.id = session.id;
  end.began = desk.world_now;
  end.shift = shift_of(session);
  return sessions_[index];
}

bool SessionModel::listen(Desk& desk) {
  ListenerId listener;
  Backlog backlog;
  backlog.fast_open = {desk.stack.config().tcp.fast_open_server ? spec_.fast_open : 0};
  if (desk.stack.listen(Local{{}, spec_.port, {}}, backlog, listener) != Refusal::none) {
    return false;
  }
  desk.routes.listen(listener, desk.model);
  return true;
}

Session* SessionModel::call(Desk& desk, const Call& call) {
  Open open;
  open.local.port = call.local;
  open.remote = call.remote;
  // Not for simultaneous open: until the two flows are joined, the pattern to expect is not known.
  open.fast_open =
      spec_.fast_open != 0 && call.local.value == 0 && desk.stack.config().tcp.fast_open_client;
  Session session;
  if (desk.stack.connect(open, session.id) != Refusal::none) {
    return nullptr;
  }
  ConnectionInfo const info = desk.stack.inspect(session.id);
  session.flow = desk.ledger.open({spec_.name, info.tuple, info.send.iss, false});
  session.lane = call.lane;
  session.bytes = call.bytes;
  Session& begun = begin(desk, session);
  if (open.fast_open) {
    begun.goal = std::min(call.bytes, early_bytes);
    write_to_goal(desk, begun);
    begun.goal = 0;
  }
  return &begun;
}

void SessionModel::accept(Desk& desk, const Event& event) {
  ConnectionInfo const info = desk.stack.inspect(event.id);
  Session session;
  session.id = event.id;
  session.side = Side::acceptor;
  session.flow = desk.ledger.find(turned_round(info.tuple), info.receive.irs);
  bool known = false;
  if (session.flow != FlowId{}) {
    FlowEnd const& ours = desk.ledger.flow(session.flow).end(Side::acceptor);
    FlowEnd const& theirs = desk.ledger.flow(session.flow).end(Side::opener);
    // A Fast Open connection may end before its SYN-ACK arrives; the client's next SYN opens it
    // anew.
    known = !ours.begun || (!ours.open && theirs.open && theirs.established.is_never());
  }
  if (!known) {
    session.foreign = true;
    session.flow = desk.ledger.open({spec_.name, turned_round(info.tuple), info.receive.irs, true});
  }
  begin(desk, session);
}

void SessionModel::on_event(Desk& desk, const Event& event) {
  if (event.kind == EventKind::accepted) {
    accept(desk, event);
  }
  Routes::Route const* const route = desk.routes.find(event.id);
  CHECK(route != nullptr);
  Session& session = sessions_[route->session];
  CHECK(session.open);
  dispatch(desk, session, event);
}

void SessionModel::dispatch(Desk& desk, Session& session, const Event& event) {
  FlowEnd& end_now = end_of(desk, session);
  switch (event.kind) {
    case EventKind::connected:
      join(desk, session);
      begin_talk(desk, session);
      break;
    case EventKind::accepted:
      begin_talk(desk, session);
      break;
    case EventKind::received:
      readable(desk, session);
      break;
    case EventKind::acknowledged:
      end_now.acknowledged += event.bytes.count;
      if (end_now.acknowledged / rtt_every_bytes !=
              (end_now.acknowledged - event.bytes.count) / rtt_every_bytes ||
          end_now.acknowledged < rtt_every_bytes) {
        note(desk, session);
        if (end_now.last.srtt.ns != 0) {
          end_now.rtt.add(end_now.last.srtt);
        }
      }
      writable(desk, session);
      break;
    case EventKind::peer_finished:
      end_now.peer_finished = true;
      begin_closing(session);
      note(desk, session);
      peer_finished(desk, session);
      break;
    case EventKind::room:
      if (session.parting) {
        part(desk, session, session.close_mode);
      } else {
        writable(desk, session);
      }
      break;
    case EventKind::urgent:
    case EventKind::soft_error:
      break;
    case EventKind::closed:
      end(desk, session, event.cause);
      break;
  }
}

void SessionModel::begin_talk(Desk& desk, Session& session) {
  session.established = true;
  end_of(desk, session).established = desk.world_now;
  opened(desk, session);
}

// Simultaneous open: both sides have recorded a flow. The later one joins the earlier as its
// acceptor; nothing has been written yet.
void SessionModel::join(Desk& desk, Session& session) {
  ConnectionInfo const info = desk.stack.inspect(session.id);
  FlowId const theirs = desk.ledger.find(turned_round(info.tuple), info.receive.irs);
  if (theirs == FlowId{} || theirs.value > session.flow.value ||
      desk.ledger.flow(theirs).end(Side::acceptor).begun) {
    return;
  }
  Flow& left = desk.ledger.flow(session.flow);
  left.joined = true;
  FlowEnd const own = left.end(Side::opener);
  left.end(Side::opener) = FlowEnd{};
  session.flow = theirs;
  session.side = Side::acceptor;
  FlowEnd& end_now = end_of(desk, session);
  end_now = own;
  end_now.shift = shift_of(session);
  Routes::Route* const route = desk.routes.find(session.id);
  CHECK(route != nullptr);
  route->flow = session.flow;
  route->side = session.side;
}

void SessionModel::note(Desk& desk, Session& session) {
  ConnectionInfo const info = desk.stack.inspect(session.id);
  if (!info.exists) {
    return;
  }
  FlowEnd& end_now = end_of(desk, session);
  end_now.last = info;
}

void SessionModel::end(Desk& desk, Session& session, Cause cause) {
  FlowEnd& end_now = end_of(desk, session);
  end_now.open = false;
  end_now.ended = desk.world_now;
  end_now.cause = cause;
  session.open = false;
  waiting_ -= session.waiting ? 1 : 0;
  session.waiting = false;
  --open_;
  open_foreign_ -= session.foreign ? 1 : 0;
  closed(desk, session);
  std::erase(closing_, index_of(session));
  free_.push_back(index_of(session));
}

void SessionModel::begin_closing(Session& session) {
  if (!session.closing) {
    session.closing = true;
    closing_.push_back(index_of(session));
  }
}

// After `closed` the id is stale, so the state of a connection is recorded while it exists.
void SessionModel::turned(Desk& desk, bool by_clock) {
  if (by_clock && open_ <= noted_max) {
    for (Session& session : sessions_) {
      if (session.open) {
        note(desk, session);
      }
    }
    return;
  }
  for (std::uint32_t index : closing_) {
    note(desk, sessions_[index]);
  }
}

bool SessionModel::write_to_goal(Desk& desk, Session& session) {
  FlowEnd& end_now = end_of(desk, session);
  while (end_now.written < session.goal) {
    std::uint64_t const left = session.goal - end_now.written;
    auto const piece = static_cast<std::uint32_t>(
        left < Pattern::row_bytes ? left : std::uint64_t{Pattern::row_bytes});
    More const more = left > piece ? More::yes : More::no;
    std::uint32_t const place = Pattern::place(end_now.shift, end_now.written);
    auto const bytes = desk.pattern.memory().subspan(place, piece);
    Taken const taken = spec_.lend && desk.region_bound
                            ? desk.stack.lend(session.id, {pattern_region, place, piece}, more)
                            : desk.stack.write(session.id, bytes, more);
    if (taken.bytes.empty()) {
      return false;
    }
    ++writes_;
    if (spec_.urgent_every != 0 && writes_ % spec_.urgent_every == 0) {
      // Refused if all of it has been sent by now: then there is nothing to mark.
      static_cast<void>(desk.stack.urgent(session.id));
    }
    if (!desk.watch.empty()) {
      StreamNote const note{desk.world_now,
                            desk.host,
                            &desk.ledger.flow(session.flow),
                            session.side,
                            end_now.written,
                            bytes.first(taken.bytes.count),
                            true};
      desk.watch.each(
          [&](Observer& observer, const Kernel& kernel) { observer.wrote(kernel, note); });
    }
    end_now.written += taken.bytes.count;
  }
  return true;
}

std::uint64_t SessionModel::read_some(Desk& desk, Session& session, std::uint64_t most) {
  Flow& flow = desk.ledger.flow(session.flow);
  FlowEnd& end_now = flow.end(session.side);
  FlowEnd const& writer = flow.end(other(session.side));
  std::uint64_t done = 0;
  while (done < most) {
    auto bytes = desk.stack.readable(session.id);
    std::uint64_t const limit = most - done < Pattern::row_bytes ? most - done : Pattern::row_bytes;
    if (bytes.empty()) {
      break;
    }
    bytes = bytes.first(bytes.size() < limit ? bytes.size() : static_cast<std::size_t>(limit));
    auto const length = static_cast<std::uint32_t>(bytes.size());
    // Reading more than was written is also an error of the stream.
    bool const right = flow.foreign || (end_now.read + length <= writer.written &&
                                        desk.pattern.matches(writer.shift, end_now.read, bytes));
    if (!right && end_now.intact) {
      end_now.intact = false;
      end_now.first_wrong = end_now.read;
    }
    if (!desk.watch.empty()) {
      StreamNote const note{desk.world_now, desk.host, &flow, session.side,
                            end_now.read,   bytes,     right};
      desk.watch.each(
          [&](Observer& observer, const Kernel& kernel) { observer.read(kernel, note); });
    }
    desk.stack.consume(session.id, {length});
    end_now.read += length;
    end_now.last_read = desk.world_now;
    done += length;
  }
  return done;
}

void SessionModel::part(Desk& desk, Session& session, CloseMode close_mode) {
  FlowEnd& end_now = end_of(desk, session);
  if (end_now.finished_writing) {
    return;
  }
  // Any other refusal means that the connection has ended: `closed` follows.
  Refusal refused = Refusal::none;
  switch (close_mode) {
    case CloseMode::finish:
      refused = desk.stack.finish(session.id);
      break;
    case CloseMode::close:
      refused = desk.stack.close(session.id);
      break;
    case CloseMode::abort:
      note(desk, session);
      desk.stack.abort(session.id);
      break;
  }
  session.parting = refused == Refusal::no_room;
  session.close_mode = close_mode;
  if (!session.parting) {
    end_now.finished_writing = true;
    begin_closing(session);
  }
}

void SessionModel::wake(Session& session, Instant at) {
  waiting_ += session.waiting ? 0 : 1;
  session.waiting = true;
  session.due = at;
  earliest_ = earlier(earliest_, at);
}

void SessionModel::run(Desk& desk) {
  if (waiting_ == 0 || desk.now < earliest_) {
    return;
  }
  // Calls each session that is due once; a new deadline that it sets waits for a later turn.
  Instant next = Instant::never();
  for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
    if (!sessions_[i].open || !sessions_[i].waiting) {
      continue;
    }
    if (sessions_[i].due <= desk.now) {
      sessions_[i].waiting = false;
      --waiting_;
      due(desk, sessions_[i]);
    }
    if (sessions_[i].open && sessions_[i].waiting) {
      next = earlier(next, sessions_[i].due);
    }
  }
  earliest_ = next;
}

Instant SessionModel::deadline() const { return waiting_ == 0 ? Instant::never() : earliest_; }

}  // namespace lockstep::sim
