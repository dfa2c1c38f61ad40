// When users connect, send, pause and close; the outcome of each request.
#include "tools/lib/load/client.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace lockstep::load {
namespace {

// Actions of each kind in one turn, so that a turn stays short.
constexpr std::uint32_t at_once = 128;
// The round trip time is sampled with every so many answers.
constexpr std::uint32_t rtt_every = 8;
// The delay after a connection attempt that failed.
constexpr Duration retry_after = Duration::milliseconds(100);
constexpr std::uint32_t backlog_least = 1'024;
constexpr std::uint64_t backlog_most = 1u << 20;

/// Requests scheduled within the timeout may wait for a connection.
Count backlog_of(const LoadPlan& plan) {
  std::uint64_t const seconds = std::max<std::uint64_t>(plan.timeout.ns / 1'000'000'000, 1);
  std::uint64_t const wanted = Duration::scaled(plan.rate, seconds).ns;
  return {plan.rate == 0 ? 1
                         : static_cast<std::uint32_t>(
                               std::clamp<std::uint64_t>(wanted, backlog_least, backlog_most))};
}

Fault fault_of(Cause cause) {
  switch (cause) {
    case Cause::refused:
      return Fault::refused;
    case Cause::reset:
      return Fault::reset;
    case Cause::protocol_unreachable:
    case Cause::prohibited:
      return Fault::unreachable;
    case Cause::timed_out:
    case Cause::keepalive_timed_out:
      return Fault::timeout;
    default:
      return Fault::closed_early;
  }
}

}  // namespace

Client::Client(const LoadPlan& plan, const http::Site& site, Count connections_max)
    : plan_(plan),
      site_(site),
      composer_(plan_, site),
      schedule_(plan.rate, plan.is_poisson, Random(plan.seed).fork("schedule")),
      waiting_(plan.connections),
      users_(plan.connections),
      asked_(std::size_t{plan.connections} * plan.pipeline),
      by_slot_(connections_max.value, http::WaitingLists::none),
      resting_(Count{plan.connections}),
      free_(Count{plan.connections}),
      backlog_(backlog_of(plan)) {
  CHECK(!plan.targets.empty() && plan.connections != 0 && plan.pipeline != 0);
  CHECK(plan.protocol == Protocol::echo || !plan.catalogue.items.empty());
  waiting_.set_patience(answer, plan.timeout);
  waiting_.set_patience(think, plan.think);
  waiting_.set_patience(slow_think, plan.slow.think);
  waiting_.set_patience(retry, retry_after);
  for (std::uint32_t i = 0; i < plan.connections; ++i) {
    User& user = users_[i];
    std::uint32_t const hundredth = hundredth_of(i);
    user.habit = hundredth < plan.silent_percent                             ? Habit::silent
                 : hundredth < plan.silent_percent + plan.slow.users_percent ? Habit::slow
                                                                             : Habit::eager;
    if (plan.protocol == Protocol::echo) {
      user.reply.emplace<EchoReply>();
    } else if (plan.protocol == Protocol::memcached) {
      user.reply.emplace<CacheReply>();
    }
    resting_.push(i);
  }
}

void Client::start(Stack& stack) {
  stack.bind(http::Site::pattern_region, site_.pattern(), site_.pattern_table());
}

Gauges Client::gauges() const { return {connecting_, open_, active_, backlog_.size()}; }

Client::User* Client::user_of(ConnectionId id) {
  CHECK(id.slot < by_slot_.size());
  std::uint32_t const index = by_slot_[id.slot];
  if (index == http::WaitingLists::none) {
    return nullptr;
  }
  User& user = users_[index];
  return user.state != State::resting && user.id == id ? &user : nullptr;
}

// --- Work that is due by the clock. ---

void Client::run(Stack& stack, Instant now) {
  more_to_do_ = false;
  if (phase_ == Phase::fresh) {
    begin(stack, now);
  }
  if (phase_ == Phase::gathering && is_gathered(now)) {
    begin_asking(stack, now);
  }
  expire(stack, now);
  if (phase_ == Phase::asking) {
    follow_schedule(stack, now);
  }
  while (take_scheduled(stack, now)) {
  }
  call_resting(stack, now);
  if (phase_ == Phase::asking && (plan_.requests == 0 ? now >= ends_at_ : !wants_more())) {
    end_asking(stack, now);
  }
  if (!has_connected_ && !is_ended() && now >= first_call_ + plan_.timeout) {
    stop(stack, now);
  }
  while (phase_ == Phase::ending && backlog_.empty() && !free_.empty()) {
    User& user = users_[free_.pop()];
    user.is_free = false;
    if (user.state == State::open && user.count == 0) {
      part(stack, user, now);
    }
  }
  if (phase_ == Phase::ending && occupied_ == 0 && backlog_.empty()) {
    CHECK(connecting_ + open_ + active_ == 0);
    phase_ = Phase::over;
  }
}

void Client::begin(Stack& stack, Instant now) {
  first_call_ = next_call_ = now;
  // With a schedule over persistent connections, the connections are opened before it begins. So
  // are those of a workload whose keys must be set before they are requested.
  if ((is_scheduled() && plan_.requests_a_connection == 0) || composer_.to_preload() != 0) {
    phase_ = Phase::gathering;
  } else {
    begin_asking(stack, now);
  }
}

bool Client::is_gathered(Instant now) const {
  bool const all = open_ == users_.size() && composer_.to_preload() == 0 && active_ == 0;
  return all || now >= first_call_ + plan_.timeout;
}

void Client::begin_asking(Stack& stack, Instant now) {
  bool const was_gathering = phase_ == Phase::gathering;
  phase_ = Phase::asking;
  measured_from_ = now + plan_.warm_up;
  ends_at_ = plan_.requests == 0 ? measured_from_ + plan_.duration : Instant::never();
  schedule_.begin(now);
  for (User& user : users_) {
    if (was_gathering && user.state == State::open && user.count == 0 &&
        user.habit != Habit::silent) {
      next_request(stack, user, now);
    }
  }
}

bool Client::wants_more() const {
  return phase_ == Phase::asking && (plan_.requests == 0 || counters_.asked < plan_.requests);
}

void Client::expire(Stack& stack, Instant now) {
  for (Wait const kind : {answer, think, slow_think, retry}) {
    std::uint32_t left = at_once;
    for (; left != 0; --left) {
      std::uint32_t const index = waiting_.pop_due(kind, now);
      if (index == http::WaitingLists::none) {
        break;
      }
      lose_patience(stack, users_[index], kind, now);
    }
    more_to_do_ = more_to_do_ || left == 0;
  }
}

void Client::lose_patience(Stack& stack, User& user, Wait kind, Instant now) {
  if (kind == retry) {
    resting_.push(index_of(user));
  } else if (kind != answer) {
    next_request(stack, user, now);
  } else if (user.state == State::connecting) {
    fail(stack, user, Fault::no_connect);
  } else if (user.state == State::open) {
    fail(stack, user, Fault::timeout);
  } else {
    abort(stack, user);
  }
}

void Client::follow_schedule(Stack&, Instant now) {
  std::uint32_t left = at_once;
  for (; left != 0 && schedule_.next() <= now && wants_more(); --left) {
    Instant const wanted = schedule_.next();
    if (wanted >= ends_at_) {
      break;
    }
    schedule_.advance();
    counters_.asked += is_measured(wanted) ? 1 : 0;
    if (backlog_.full()) {
      counters_.faults[static_cast<std::uint32_t>(Fault::unsent)] += is_measured(wanted) ? 1 : 0;
    } else {
      backlog_.push(wanted);
    }
  }
  more_to_do_ = more_to_do_ || left == 0;
}

// Assigns the first waiting request to a connection, if one is free. True: try again.
bool Client::take_scheduled(Stack& stack, Instant now) {
  if (backlog_.empty()) {
    return false;
  }
  if (now.since(backlog_.front()) >= plan_.timeout) {
    Instant const wanted = backlog_.pop();
    counters_.faults[static_cast<std::uint32_t>(Fault::unsent)] += is_measured(wanted) ? 1 : 0;
    return true;
  }
  while (!free_.empty()) {
    User& user = users_[free_.pop()];
    user.is_free = false;
    if (user.state == State::open && user.count < plan_.pipeline && user.left != 0) {
      ask(user, backlog_.pop(), now);
      set_free(user);
      send(stack, user);
      return true;
    }
  }
  if (resting_.empty() || connecting_ >= plan_.connecting_max || next_call_ > now ||
      phase_ == Phase::gathering) {
    return false;
  }
  User& user = users_[resting_.front()];
  if (user.habit == Habit::silent) {
    return false;
  }
  call(stack, user, now);
  return true;
}

// Opens connections that no waiting request needs: of a closed loop, of a schedule that has not
// begun, and of silent users.
void Client::call_resting(Stack& stack, Instant now) {
  std::uint32_t left = at_once;
  while (left != 0 && !resting_.empty() && connecting_ < plan_.connecting_max &&
         next_call_ <= now) {
    bool const wanted = phase_ == Phase::gathering ||
                        (wants_more() && (!is_scheduled() || plan_.requests_a_connection == 0));
    if (!wanted) {
      return;
    }
    call(stack, users_[resting_.front()], now);
    --left;
  }
  more_to_do_ = more_to_do_ || left == 0;
}

// Connects the first user of resting_; assigns its first request if that is known.
void Client::call(Stack& stack, User& user, Instant now) {
  CHECK(resting_.pop() == index_of(user));
  ++calls_;
  if (plan_.connects_a_second != 0) {
    next_call_ = first_call_ + Duration{calls_ / plan_.connects_a_second * 1'000'000'000 +
                                        calls_ % plan_.connects_a_second * 1'000'000'000 /
                                            plan_.connects_a_second};
  }
  ++occupied_;
  user.target = static_cast<std::uint32_t>(calls_ % plan_.targets.size());
  user.left = plan_.requests_a_connection == 0 ? ~std::uint32_t{0} : plan_.requests_a_connection;
  user.position = user.first = user.count = user.sent = 0;
  user.is_free = user.peer_finished = user.is_last = user.reading = false;
  user.is_closed = user.close_pending = false;
  user.called = now;
  user.state = State::closing;
  if (is_scheduled()) {
    if (!backlog_.empty()) {
      ask(user, backlog_.pop(), now);
    }
  } else if (user.habit != Habit::silent && phase_ == Phase::asking) {
    counters_.asked += is_measured(now) ? 1 : 0;
    ask(user, now, now);
  }
  Open open;
  open.remote = plan_.targets[user.target].endpoint;
  if (!plan_.sources.empty()) {
    open.local.address = plan_.sources[next_source_];
    next_source_ = (next_source_ + 1) % static_cast<std::uint32_t>(plan_.sources.size());
  }
  Refusal const refusal = stack.connect(open, user.id);
  if (refusal != Refusal::none) {
    bool const no_port = refusal == Refusal::ports_exhausted || refusal == Refusal::exists;
    bool const no_room = refusal == Refusal::no_room;
    count_failed(user, no_port ? Fault::no_port : no_room ? Fault::no_room : Fault::unreachable);
    rest(user, false, now);
    return;
  }
  by_slot_[user.id.slot] = index_of(user);
  // A request must leave at once, without waiting for the ACK of the one before.
  static_cast<void>(stack.set(user.id, {SettingKind::nagle, 0}));
  user.state = State::connecting;
  ++connecting_;
  wait(user, answer, now);
}

void Client::end_asking(Stack& stack, Instant now) {
  phase_ = Phase::ending;
  ended_at_ = now;
  in_time_ = counters_;
  for (User& user : users_) {
    if (user.state == State::open && user.count == 0) {
      part(stack, user, now);
    }
  }
}

Instant Client::deadline() const {
  if (phase_ == Phase::over) {
    return Instant::never();
  }
  if (phase_ == Phase::fresh || more_to_do_) {
    return Instant{};
  }
  Instant due = waiting_.deadline();
  if (!has_connected_ || phase_ == Phase::gathering) {
    due = is_ended() ? due : earlier(due, first_call_ + plan_.timeout);
  }
  if (phase_ == Phase::asking) {
    due = earlier(due, ends_at_);
    due = wants_more() ? earlier(due, schedule_.next()) : due;
  }
  if (!backlog_.empty()) {
    due = earlier(due, backlog_.front() + plan_.timeout);
  }
  bool const calls = plan_.connects_a_second != 0 && !resting_.empty() &&
                     connecting_ < plan_.connecting_max &&
                     (phase_ == Phase::gathering || wants_more() || !backlog_.empty());
  return calls ? earlier(due, next_call_) : due;
}

void Client::stop(Stack& stack, Instant now) {
  if (phase_ == Phase::fresh || phase_ == Phase::gathering) {
    begin_asking(stack, now);
  }
  if (phase_ == Phase::asking) {
    end_asking(stack, now);
  }
  while (!backlog_.empty()) {
    Instant const wanted = backlog_.pop();
    counters_.faults[static_cast<std::uint32_t>(Fault::unsent)] += is_measured(wanted) ? 1 : 0;
  }
}

void Client::abandon(Stack& stack, Instant) {
  for (User& user : users_) {
    if (user.state != State::resting) {
      fail(stack, user, Fault::timeout);
    }
  }
}

// --- Events of the stack. ---

void Client::on_event(Stack& stack, const Event& event) {
  User* const user = user_of(event.id);
  if (user == nullptr) {
    return;
  }
  Instant const now = stack.now();
  switch (event.kind) {
    case EventKind::connected:
      connected(stack, *user, now);
      break;
    case EventKind::peer_finished:
      user->peer_finished = true;
      go_on(stack, *user, now);
      break;
    case EventKind::received:
    case EventKind::acknowledged:
    case EventKind::room:
      go_on(stack, *user, now);
      break;
    case EventKind::closed:
      closed(*user, event.cause, now);
      break;
    default:
      break;
  }
}

void Client::connected(Stack& stack, User& user, Instant now) {
  if (user.state != State::connecting) {
    return;
  }
  --connecting_;
  ++open_;
  has_connected_ = true;
  user.state = State::open;
  active_ += user.count != 0 ? 1 : 0;
  waiting_.leave(index_of(user));
  if (is_measured(user.called)) {
    ++counters_.connections;
    times_.connect.add(now.since(user.called));
  }
  if (user.count != 0) {
    wait(user, answer, now);
  }
  if (user.habit == Habit::silent) {
    return;
  }
  if (is_ended() && user.count == 0) {
    part(stack, user, now);
    return;
  }
  next_request(stack, user, now);
}

void Client::closed(User& user, Cause cause, Instant now) {
  if (user.state == State::connecting || user.state == State::open) {
    bool const failed =
        user.state == State::connecting || user.count != 0 || cause != Cause::finished;
    if (failed) {
      count_failed(user, fault_of(cause));
    }
    rest(user, !failed, now);
  } else {
    rest(user, true, now);
  }
}

void Client::go_on(Stack& stack, User& user, Instant now) {
  if (user.state == State::open) {
    send(stack, user);
    read(stack, user, now);
  }
  if (user.state != State::closing) {
    return;
  }
  if (user.close_pending || (user.peer_finished && !user.is_closed)) {
    close(stack, user);
  } else if (!user.is_closed) {
    stack.consume(user.id, stack.unread(user.id));
  }
}

void Client::read(Stack& stack, User& user, Instant now) {
  for (auto part = stack.readable(user.id); !part.empty() && user.state == State::open;
       part = stack.readable(user.id)) {
    read_part(stack, user, part, now);
  }
  if (user.state != State::open || !user.peer_finished) {
    return;
  }
  if (user.reading &&
      std::visit([](auto& reply) { return reply.ended(); }, user.reply) == Progress::complete) {
    user.left = 0;
    answered(stack, user, now);
  }
  if (user.state == State::open) {
    count_failed(user, Fault::none);
    close(stack, user);
  }
}

void Client::read_part(Stack& stack, User& user, std::span<const std::byte> octets, Instant now) {
  if (user.sent == 0 && user.position == 0) {
    fail(stack, user, Fault::unasked);
    return;
  }
  std::visit(
      [&](auto& reply) {
        if (!user.reading) {
          reply.begin(composer_.expected(asked(user, 0)));
          user.reading = true;
        }
        Bytes used;
        Progress const progress = reply.read(octets, used);
        stack.consume(user.id, used);
        if (progress == Progress::failed) {
          fail(stack, user, reply.fault());
        } else if (progress == Progress::complete) {
          user.left = reply.keeps_alive() ? user.left : 0;
          answered(stack, user, now);
        }
      },
      user.reply);
}

void Client::answered(Stack& stack, User& user, Instant now) {
  Asked const done = asked(user, 0);
  user.reading = false;
  user.first = (user.first + 1) % plan_.pipeline;
  --user.count;
  // A response may arrive before the last octet of its request has left.
  user.sent -= user.sent != 0 ? 1 : 0;
  active_ -= user.count == 0 ? 1 : 0;
  ++answers_seen_;
  if (is_measured(done.wanted)) {
    ++counters_.answered;
    counters_.body_octets +=
        std::visit([](auto& reply) { return reply.body_octets(); }, user.reply);
    times_.latency.add(now.since(done.wanted));
    if (const auto* const cached = std::get_if<CacheReply>(&user.reply)) {
      counters_.updates += cached->is_update() ? 1 : 0;
      counters_.misses += cached->is_miss() ? 1 : 0;
    }
    if (answers_seen_ % rtt_every == 0) {
      times_.rtt.add(stack.inspect(user.id).srtt);
    }
  }
  if (user.count == 0) {
    waiting_.leave(index_of(user));
  } else {
    wait(user, answer, now);
  }
  if (is_ended() && plan_.requests != 0) {
    ended_at_ = now;
  }
  bool const more = user.left != 0 && may_ask();
  if (user.count == 0 && !more) {
    part(stack, user, now);
  } else if (phase_ == Phase::gathering) {
    next_request(stack, user, now);
  } else if (user.count == 0 && !is_scheduled() && user.habit == Habit::slow) {
    wait(user, slow_think, now);
  } else if (user.count == 0 && !is_scheduled() && plan_.think.ns != 0) {
    wait(user, think, now);
  } else {
    next_request(stack, user, now);
  }
}

// Whether open connections are still needed.
bool Client::may_ask() const {
  if (phase_ == Phase::gathering) {
    return true;
  }
  return is_scheduled() ? phase_ == Phase::asking || !backlog_.empty() : wants_more();
}

// Sends the next requests of an open connection that has room for them.
void Client::next_request(Stack& stack, User& user, Instant now) {
  if (user.state != State::open) {
    return;
  }
  if (phase_ == Phase::gathering) {
    while (user.count < plan_.pipeline && user.left != 0 && composer_.to_preload() != 0) {
      ask(user, now, now);
    }
  } else if (is_scheduled()) {
    set_free(user);
  } else {
    while (user.count < plan_.pipeline && user.left != 0 && wants_more()) {
      counters_.asked += is_measured(now) ? 1 : 0;
      ask(user, now, now);
    }
    if (user.count == 0) {
      part(stack, user, now);
      return;
    }
  }
  send(stack, user);
}

void Client::set_free(User& user) {
  if (!user.is_free && user.count < plan_.pipeline && user.left != 0) {
    user.is_free = true;
    free_.push(index_of(user));
  }
}

void Client::ask(User& user, Instant wanted, Instant now) {
  CHECK(user.left != 0 && user.count < plan_.pipeline);
  user.left -= plan_.requests_a_connection == 0 ? 0 : 1;
  user.is_last = user.left == 0;
  asked(user, user.count) = composer_.draw(wanted, user.is_last);
  ++user.count;
  if (user.count == 1) {
    active_ += user.state == State::open ? 1 : 0;
    wait(user, answer, now);
  }
}

void Client::send(Stack& stack, User& user) {
  while (user.state == State::open && user.sent < user.count) {
    if (!send_one(stack, user, asked(user, user.sent))) {
      return;
    }
    ++user.sent;
    user.position = 0;
  }
}

// True once the whole request is queued. After a refusal the stack reports when there is room.
bool Client::send_one(Stack& stack, User& user, const Asked& one) {
  Message const message = composer_.compose(one, plan_.targets[user.target]);
  while (user.position < message.size()) {
    Taken taken;
    if (user.position < message.head.size()) {
      auto const rest = message.head.substr(static_cast<std::size_t>(user.position));
      taken = stack.write(user.id, std::as_bytes(std::span(rest)),
                          message.body_length == 0 ? More::no : More::yes);
    } else if (user.position >= message.head.size() + message.body_length) {
      auto const rest = message.tail.substr(
          static_cast<std::size_t>(user.position - message.head.size() - message.body_length));
      taken = stack.write(user.id, std::as_bytes(std::span(rest)));
    } else {
      std::uint64_t const at = user.position - message.head.size();
      std::uint64_t const from = (message.body_from + at) % http::Site::pattern_bytes;
      std::uint64_t const run =
          std::min(message.body_length - at, http::Site::pattern_bytes - from);
      taken = stack.lend(
          user.id, {http::Site::pattern_region, from, static_cast<std::uint32_t>(run)},
          at + run < message.body_length || !message.tail.empty() ? More::yes : More::no);
    }
    user.position += taken.bytes.count;
    if (taken.bytes.empty()) {
      return false;
    }
  }
  return true;
}

// --- The end of connections. ---

void Client::count_failed(User& user, Fault fault) {
  Fault const named = fault == Fault::none ? Fault::closed_early : fault;
  if (user.count == 0 && fault != Fault::none && is_measured(user.called)) {
    ++counters_.faults[static_cast<std::uint32_t>(fault)];
  }
  active_ -= user.state == State::open && user.count != 0 ? 1 : 0;
  while (user.count != 0) {
    if (is_measured(asked(user, 0).wanted)) {
      ++counters_.faults[static_cast<std::uint32_t>(named)];
    }
    user.first = (user.first + 1) % plan_.pipeline;
    --user.count;
  }
  user.sent = 0;
}

void Client::fail(Stack& stack, User& user, Fault fault) {
  count_failed(user, fault);
  abort(stack, user);
}

// The last response of a connection has arrived.
void Client::part(Stack& stack, User& user, Instant now) {
  if (plan_.close_mode == CloseMode::reset) {
    abort(stack, user);
  } else if (plan_.close_mode == CloseMode::client || !user.is_last || user.peer_finished) {
    close(stack, user);
  } else {
    --open_;
    user.state = State::closing;
    wait(user, answer, now);
  }
}

void Client::close(Stack& stack, User& user) {
  if (user.state == State::open) {
    --open_;
    user.state = State::closing;
  }
  wait(user, answer, stack.now());
  user.is_closed = true;
  user.close_pending = stack.close(user.id) == Refusal::no_room;
}

void Client::abort(Stack& stack, User& user) {
  connecting_ -= user.state == State::connecting ? 1 : 0;
  open_ -= user.state == State::open ? 1 : 0;
  user.state = State::closing;
  user.is_closed = true;
  waiting_.leave(index_of(user));
  stack.abort(user.id);
}

// The user's connection is gone.
void Client::rest(User& user, bool soon, Instant now) {
  connecting_ -= user.state == State::connecting ? 1 : 0;
  open_ -= user.state == State::open ? 1 : 0;
  waiting_.leave(index_of(user));
  if (by_slot_.size() > user.id.slot && by_slot_[user.id.slot] == index_of(user)) {
    by_slot_[user.id.slot] = http::WaitingLists::none;
  }
  user.state = State::resting;
  --occupied_;
  if (soon) {
    resting_.push(index_of(user));
  } else {
    wait(user, retry, now);
  }
}

}  // namespace lockstep::load
