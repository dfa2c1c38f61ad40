// Sessions: the part of a connection that every model needs, and the base of models made of them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/models/model.hpp"

namespace lockstep::sim {

// One connection of a model. `written` and `read` count from its beginning; `goal` is how far
// `written` is to come before the model thinks again.
struct Session {
  ConnectionId id;
  FlowId flow;
  Side side = Side::opener;
  bool open = true;
  bool foreign = false;  // a random_peer's
  bool established = false;
  bool closing = false;  // a half is closed: noted after every turn
  bool parting = false;  // its close_mode was refused for want of room
  bool waiting = false;  // `due` means something
  std::uint32_t round = 0;
  std::uint32_t lane = 0;  // which of the application's flows side by side it is
  std::uint64_t goal = 0;
  Instant due = Instant::never();
  CloseMode close_mode = CloseMode::finish;  // while `parting`
};

// Opens and accepts connections, moves pattern bytes through them and books what happens; what is
// to be done when is the derived model's.
class SessionModel : public Model {
 public:
  explicit SessionModel(const AppSpec& spec) : spec_(spec) {}

  void on_event(Desk& desk, const Event& event) final;
  void run(Desk& desk) override;
  void turned(Desk& desk, bool by_clock) final;
  Instant deadline() const override;
  // A connection that nobody of this world opened may stay for ever: it is not waited for.
  bool done() const override { return open_ == open_foreign_; }

 protected:
  // Called at the right moments; the default of each does nothing.
  virtual void opened(Desk&, Session&) {}
  virtual void readable(Desk& desk, Session& session) { read_all(desk, session); }
  virtual void writable(Desk&, Session&) {}
  virtual void peer_finished(Desk&, Session&) {}
  virtual void due(Desk&, Session&) {}
  virtual void closed(Desk&, Session&) {}

  // Waits for callers at the application's port; false: refused, to be tried again.
  bool listen(Desk& desk);
  // Begins a connection; nullptr: refused, to be tried again. `local`: zero is any port.
  struct Call {
    Endpoint remote;
    Port local;
    std::uint32_t lane = 0;
  };
  Session* call(Desk& desk, const Call& call);

  // Writes (or lends) pattern bytes until the goal is reached or no more is taken. True: reached.
  bool write_to_goal(Desk& desk, Session& session);
  // Reads and verifies at most `most` bytes; gives how many.
  std::uint64_t read_some(Desk& desk, Session& session, std::uint64_t most);
  void read_all(Desk& desk, Session& session) { read_some(desk, session, ~std::uint64_t{0}); }
  // Says farewell in the application's way; if there is no room for that, as soon as there is.
  void part(Desk& desk, Session& session, CloseMode close_mode);
  // due() will be called then.
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
  Instant earliest_ = Instant::never();  // may be early, never late
};

}  // namespace lockstep::sim
