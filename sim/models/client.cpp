// Clients and servers: scheduling, connecting, listening, and retries after a refusal.
#include "sim/models/client.hpp"

namespace lockstep::sim {
namespace {

// The retry interval after a refused connect (no port, no room, quiet time).
constexpr Duration patience = Duration::milliseconds(100);

}  // namespace

void Client::plan(Instant now) {
  planned_ = true;
  Instant start = now + spec().start;
  for (std::uint32_t i = 0; i < spec().flows; ++i) {
    plans_.push_back({start, spec().repeat, false});
    left_ += spec().repeat;
    start = start + spec().stagger;
  }
}

void Client::run(Desk& desk) {
  if (!planned_) {
    plan(desk.now);
  }
  if (desk.now >= earliest_) {
    Instant next = Instant::never();
    for (std::uint32_t lane = 0; lane < plans_.size(); ++lane) {
      FlowPlan& each = plans_[lane];
      if (each.talking || each.left == 0) {
        continue;
      }
      if (each.next <= desk.now) {
        each.talking = call(desk, {{server_, spec().port}, local_, lane}) != nullptr;
        each.next = desk.now + patience;
      }
      if (!each.talking) {
        next = earlier(next, each.next);
      }
    }
    earliest_ = next;
  }
  SessionModel::run(desk);
}

Instant Client::deadline() const { return earlier(earliest_, SessionModel::deadline()); }

void Client::closed(Desk& desk, Session& session) {
  FlowPlan& mine = plans_[session.lane];
  mine.talking = false;
  mine.next = desk.now + spec().think;
  --mine.left;
  --left_;
  if (mine.left != 0) {
    earliest_ = earlier(earliest_, mine.next);
  }
}

void Server::run(Desk& desk) {
  if (!listening_ && desk.now >= retry_) {
    listening_ = listen(desk);
    retry_ = desk.now + patience;
  }
  SessionModel::run(desk);
}

Instant Server::deadline() const {
  return listening_ ? SessionModel::deadline() : earlier(retry_, SessionModel::deadline());
}

void Server::peer_finished(Desk& desk, Session& session) {
  read_all(desk, session);
  part(desk, session, CloseMode::finish);
}

}  // namespace lockstep::sim
