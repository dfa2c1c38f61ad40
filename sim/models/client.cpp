// Clients and servers: scheduling, connecting, listening, and retries after a refusal.
#include "sim/models/client.hpp"

namespace lockstep::sim {
namespace {

// The retry interval after a refused connect (no port, no room, quiet time).
constexpr Duration patience = Duration::milliseconds(100);

}  // namespace

void Client::plan(Instant now) {
  planned_ = true;
  AppDraws const& draws = spec().draws;
  for (Instant const start : starts(now)) {
    FlowPlan flow{start, spec().repeat, false, spec().bytes};
    if (draws.any()) {
      auto const number = static_cast<std::uint32_t>(plans_.size());
      flow.sizes = stream_of_flow(draws, "bytes", number);
      flow.pauses = stream_of_flow(draws, "think", number);
      flow.bytes = size_of(flow);
    }
    plans_.push_back(flow);
    left_ += spec().repeat;
  }
}

// When each flow begins.
std::vector<Instant> Client::starts(Instant now) const {
  AppDraws const& draws = spec().draws;
  std::vector<Instant> out;
  bool const regular = draws.arrivals.kind == ArrivalKind::regular;
  Instant start = now + spec().start;
  for (std::uint32_t i = 0; regular && i < spec().flows; ++i) {
    Random own = stream_of_flow(draws, "start", i);
    Duration const late{draws.start.is_random() ? draws.start.from(own) : 0};
    out.push_back(start + late);
    start = start + spec().stagger;
  }
  if (!regular) {
    Random own = stream_of_flow(draws, "start", 0);
    start = start + Duration{draws.start.is_random() ? draws.start.from(own) : 0};
    ArrivalProcess arrivals(draws.arrivals, draws.stream.fork("arrivals"));
    for (std::uint32_t i = 0; i < spec().flows; ++i) {
      out.push_back(start + arrivals.next());
    }
  }
  return out;
}

std::uint64_t Client::size_of(FlowPlan& flow) const {
  Draw const& bytes = spec().draws.bytes;
  return bytes.is_random() ? bytes.from(flow.sizes) : spec().bytes;
}

Duration Client::pause_of(std::uint32_t lane) {
  Draw const& think = spec().draws.think;
  return think.is_random() ? Duration{think.from(plans_[lane].pauses)} : spec().think;
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
        each.talking = call(desk, {{server_, spec().port}, local_, lane, each.bytes}) != nullptr;
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
  mine.next = desk.now + pause_of(session.lane);
  mine.bytes = size_of(mine);
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
