// Many users of a server as one Application of a Stack: no clock, no files, no threads.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/units/random.hpp"
#include "tools/lib/http/site.hpp"
#include "tools/lib/http/waiting.hpp"
#include "tools/lib/load/cache_reply.hpp"
#include "tools/lib/load/counters.hpp"
#include "tools/lib/load/message.hpp"
#include "tools/lib/load/plan.hpp"
#include "tools/lib/load/reply.hpp"
#include "tools/lib/load/ring.hpp"
#include "tools/lib/load/schedule.hpp"

namespace lockstep::load {

/// The connections at one moment.
struct Gauges {
  std::uint32_t connecting = 0;
  std::uint32_t open = 0;     ///< ESTABLISHED, and not closing
  std::uint32_t active = 0;   ///< of these, waiting for a response
  std::uint64_t waiting = 0;  ///< scheduled requests that no connection has taken yet
};

/// Runs its plan, then closes everything and is finished(). All memory is allocated by the
/// constructor. Behaviour depends only on the plan and on the calls made.
class Client {
 public:
  /// The plan must be valid (CHECK: it has a target, a connection, something to request). `site` is
  /// complete and must outlive the client, and the stack that lends its pattern. `connections_max`
  /// is the stack's.
  Client(const LoadPlan& plan, const http::Site& site, Count connections_max);

  /// Binds the pattern. Call before the first turn, which begins the load.
  void start(Stack& stack);

  // An Application that can be stopped (hw/poll/loop.hpp).
  void on_event(Stack& stack, const Event& event);
  void run(Stack& stack, Instant now);
  Instant deadline() const;
  void stop(Stack& stack, Instant now);
  bool done() const { return occupied_ == 0; }
  void abandon(Stack& stack, Instant now);

  /// Every request was answered or given up, and every connection is closed.
  bool finished() const { return phase_ == Phase::over; }
  const Counters& counters() const { return counters_; }
  /// The counters when the last request became due; the final ones if the plan sets the number of
  /// requests. Rates are of these, over measured().
  const Counters& counters_in_time() const {
    return is_ended() && plan_.requests == 0 ? in_time_ : counters_;
  }
  /// False: no connection was ever established.
  bool has_connected() const { return has_connected_; }
  Duration measured(Instant now) const {
    return (is_ended() ? ended_at_ : now).since(measured_from_);
  }
  bool is_warm(Instant now) const { return phase_ != Phase::gathering && now >= measured_from_; }
  const Times& times() const { return times_; }
  Gauges gauges() const;
  /// The number of connections opened so far, and visits of those still open.
  std::uint64_t calls() const { return calls_; }
  template <class Visit>
  void visit_connections(Visit visit) const {
    for (const User& user : users_) {
      if (user.state != State::resting) {
        visit(user.id);
      }
    }
  }

 private:
  // gathering: connections are opened before the schedule begins. asking: requests become due.
  // ending: requests that were due are answered or given up. over: no connection is open.
  enum class Phase : std::uint8_t { fresh, gathering, asking, ending, over };
  enum class State : std::uint8_t { resting, connecting, open, closing };
  enum class Habit : std::uint8_t { eager, slow, silent };
  enum Wait : std::uint32_t { answer, think, slow_think, retry };

  struct User {
    ConnectionId id;
    State state = State::resting;
    Habit habit = Habit::eager;
    bool is_free = false;  // is in free_
    bool peer_finished = false;
    bool is_last = false;        // the server has been asked to close after the last request
    bool is_closed = false;      // we have closed it
    bool close_pending = false;  // the FIN was refused for lack of room
    bool reading = false;        // `reply` has begun
    std::uint32_t target = 0;
    std::uint32_t left = 0;   // requests that it may still take
    std::uint32_t first = 0;  // of its ring of requests that wait for a response
    std::uint32_t count = 0;
    std::uint32_t sent = 0;      // of these: completely written
    std::uint64_t position = 0;  // octets written of the next one
    Instant called;
    std::variant<HttpReply, EchoReply, CacheReply> reply;
  };

  User* user_of(ConnectionId id);
  std::uint32_t index_of(const User& user) const {
    return static_cast<std::uint32_t>(&user - users_.data());
  }
  Asked& asked(const User& user, std::uint32_t place) {
    return asked_[std::size_t{index_of(user)} * plan_.pipeline +
                  (user.first + place) % plan_.pipeline];
  }
  bool is_ended() const { return phase_ == Phase::ending || phase_ == Phase::over; }
  bool is_measured(Instant wanted) const { return is_warm(wanted); }
  bool is_scheduled() const { return plan_.rate != 0; }
  bool wants_more() const;

  void begin(Stack& stack, Instant now);
  void begin_asking(Stack& stack, Instant now);
  bool is_gathered(Instant now) const;
  void expire(Stack& stack, Instant now);
  void lose_patience(Stack& stack, User& user, Wait kind, Instant now);
  void follow_schedule(Stack& stack, Instant now);
  bool take_scheduled(Stack& stack, Instant now);
  void call_resting(Stack& stack, Instant now);
  void call(Stack& stack, User& user, Instant now);
  void end_asking(Stack& stack, Instant now);

  void connected(Stack& stack, User& user, Instant now);
  void closed(User& user, Cause cause, Instant now);
  void go_on(Stack& stack, User& user, Instant now);
  void read(Stack& stack, User& user, Instant now);
  void read_part(Stack& stack, User& user, std::span<const std::byte> part, Instant now);
  void answered(Stack& stack, User& user, Instant now);
  void next_request(Stack& stack, User& user, Instant now);
  bool may_ask() const;
  void ask(User& user, Instant wanted, Instant now);
  void send(Stack& stack, User& user);
  bool send_one(Stack& stack, User& user, const Asked& one);
  void fail(Stack& stack, User& user, Fault fault);
  void count_failed(User& user, Fault fault);
  void part(Stack& stack, User& user, Instant now);
  void close(Stack& stack, User& user);
  void abort(Stack& stack, User& user);
  void rest(User& user, bool soon, Instant now);
  void set_free(User& user);
  void wait(const User& user, Wait kind, Instant now) { waiting_.wait(index_of(user), kind, now); }

  LoadPlan plan_;
  const http::Site& site_;
  Composer composer_;
  Phase phase_ = Phase::fresh;
  Instant measured_from_ = Instant::never();
  Instant ends_at_ = Instant::never();
  Instant ended_at_;
  Schedule schedule_;
  Instant next_call_;  // by connects_a_second
  std::uint64_t calls_ = 0;
  Instant first_call_;
  bool has_connected_ = false;
  bool more_to_do_ = false;     // a limit of this turn was reached
  std::uint32_t occupied_ = 0;  // users that are not resting
  std::uint32_t connecting_ = 0;
  std::uint32_t open_ = 0;
  std::uint32_t active_ = 0;
  std::uint32_t next_source_ = 0;
  std::uint32_t answers_seen_ = 0;
  Counters counters_;
  Counters in_time_;
  Times times_;
  http::WaitingLists waiting_;
  std::vector<User> users_;
  std::vector<Asked> asked_;            // plan_.pipeline entries for each user
  std::vector<std::uint32_t> by_slot_;  // the user of each slot of the stack
  Ring<std::uint32_t> resting_;
  Ring<std::uint32_t> free_;  // with a schedule: open connections with room for a request
  Ring<Instant> backlog_;     // due, and not taken yet
};

}  // namespace lockstep::load
