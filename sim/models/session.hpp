// Sessions: the state of a connection that every model needs, and the base class of the models.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/models/model.hpp"

namespace lockstep::sim {

// One connection of a model. `written` and `read` count from its beginning; `goal` is the value of
// `written` at which the model decides what is next.
struct Session {
  ConnectionId id;
  FlowId flow;
  Side side = Side::opener;
  bool open = true;
  bool foreign = false;  // opened by a station such as random_peer
  bool established = false;
  bool closing = false;  // one direction is closed: recorded after every turn
  bool parting = false;  // its close was refused because there was no room
  bool waiting = false;  // `due` is valid
  std::uint32_t round = 0;
  std::uint32_t lane = 0;  // which of the application's concurrent flows it is
  std::uint64_t goal = 0;
  std::uint64_t bytes = 0;  // of a client: what it sends on this connection, or in a request
  Instant due = Instant::never();
  CloseMode close_mode = CloseMode::finish;  // while `parting`
};

// Opens and accepts connections, transfers pattern bytes on them and records the results in the
// ledger; the derived model decides what to do and when.
class SessionModel : public Model {
 public:
  explicit SessionModel(const AppSpec& spec) : spec_(spec) {}

  void on_event(Desk& desk, const Event& event) final;
  void run(Desk& desk) override;
  void turned(Desk& desk, bool by_clock) final;
  Instant deadline() const override;
  // A connection that no model opened may stay open for ever, so it does not count.
  bool done() const override { return open_ == open_foreign_; }

 protected:
  // Called when they apply; the defaults do nothing.
  virtual void opened(Desk&, Session&) {}
  virtual void readable(Desk& desk, Session& session) { read_all(desk, session); }
  virtual void writable(Desk&, Session&) {}
  virtual void peer_finished(Desk&, Session&) {}
  virtual void due(Desk&, Session&) {}
  virtual void closed(Desk&, Session&) {}

  // Listens on the application's port; false: refused, try again.
  bool listen(Desk& desk);
  // Opens a connection; nullptr: refused, try again. `local`: zero is any port.
  struct Call {
    Endpoint remote;
    Port local;
    std::uint32_t lane = 0;
    std::uint64_t bytes = 0;
  };
  Session* call(Desk& desk, const Call& call);

  // Writes (or lends) pattern bytes until the goal is reached or the stack takes no more. True:
  // goal reached.
  bool write_to_goal(Desk& desk, Session& session);
  // Reads and verifies at most `most` bytes; returns how many.
  std::uint64_t read_some(Desk& desk, Session& session, std::uint64_t most);
  void read_all(Desk& desk, Session& session) { read_some(desk, session, ~std::uint64_t{0}); }
  // Ends the connection by `close_mode`; if there is no room for that, as soon as there is.
  void part(Desk& desk, Session& session, CloseMode close_mode);
  // Calls due() at that instant.
  void wake(Session& session, Instant at);

  FlowEnd& end_of(Desk& desk, const Session& session) const {
    return desk.ledger.flow(session.flow).end(session.side);
  }
  const AppSpec& spec() const { return spec_; }
  std::uint32_t open_count() const { return open_; }

 private:
  Session& begin(Desk& desk, const Session& session);
  void accept(Desk& desk, const Event& event);
  void join(Desk& desk, Session& session);
  void begin_talk(Desk& desk, Session& session);
  void note(Desk& desk, Session& session);
  void begin_closing(Session& session);
  std::uint32_t index_of(const Session& session) const {
    return static_cast<std::uint32_t>(&session - sessions_.data());
  }
  void dispatch(Desk& desk, Session& session, const Event& event);
  void end(Desk& desk, Session& session, Cause cause);

  AppSpec spec_;
  std::vector<Session> sessions_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> closing_;
  std::uint32_t open_ = 0;
  std::uint32_t open_foreign_ = 0;
  std::uint32_t waiting_ = 0;
  std::uint64_t writes_ = 0;
  Instant earliest_ = Instant::never();  // may be too early, never too late
};

}  // namespace lockstep::sim
