// An HTTP/1.1 server of GET and HEAD, with a sink, as an Application of a Stack: no clock, no
// files.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/stack/stack.hpp"
#include "tools/lib/http/clients.hpp"
#include "tools/lib/http/head.hpp"
#include "tools/lib/http/request.hpp"
#include "tools/lib/http/site.hpp"
#include "tools/lib/http/waiting.hpp"

namespace lockstep::http {

struct ServerSettings {
  Port port{80};
  Backlog backlog{Count{1024}, Count::unlimited()};
  RequestLimits limits{.sink_max = std::uint64_t{1} << 40};
  /// Before the first request and between requests; then the connection is closed.
  Duration idle = Duration::seconds(60);
  /// From a request's first octet to its last, then 408. An upload starts it anew with the body.
  Duration request = Duration::seconds(10);
  /// For a response to be queued; then the connection is aborted.
  Duration send = Duration::seconds(30);
  /// For the peer's FIN after ours; then the connection is aborted.
  Duration linger = Duration::seconds(10);
  /// When less than a sixteenth of the connections, and 64 at most, are free, connections without a
  /// complete request give way if they have waited this long: first those that sent nothing, then
  /// those with a part of a request, then those between requests, the oldest of each first.
  Duration grace = Duration::seconds(1);
  /// Connections of one client address at the same time, at most; 0: no limit. More are reset.
  std::uint32_t per_client = 0;
  /// The time of day at Instant{}, in nanoseconds since 1970; 0: no clock, so no Date fields, as in
  /// a simulation.
  std::uint64_t unix_ns = 0;

  /// The timeouts of an upload's body, `send` and `linger` start anew once this many octets for
  /// each of their seconds have arrived or been acknowledged. So a few octets now and then cannot
  /// hold a connection.
  static constexpr std::uint64_t octets_a_second_least = 500;
};

struct ServerCounters {
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;                            ///< answered, with any status
  std::uint64_t body_octets = 0;                         ///< lent, or written as an error's body
  std::array<std::uint64_t, statuses.size()> answers{};  ///< by index_of(status)
  /// Of whole answers with their heads, by index_of(status).
  std::array<std::uint64_t, statuses.size()> answer_octets{};
  std::uint64_t upload_octets = 0;  ///< received by the sink
  std::uint64_t idle_ends = 0;
  std::uint64_t request_timeouts = 0;
  std::uint64_t send_timeouts = 0;
  std::uint64_t linger_timeouts = 0;
  std::uint64_t gave_way_silent = 0;   ///< aborted for room, without a request
  std::uint64_t gave_way_partial = 0;  ///< ... with a part of one
  std::uint64_t gave_way_idle = 0;     ///< ... between requests
  std::uint64_t over_client_limit = 0;
  std::array<std::uint64_t, cause_count> ends{};  ///< closed connections, by Cause
};

/// One answer, for logs and measurements.
struct Answered {
  IpAddress client;
  const RequestReader& request;
  Status status = Status::ok;
  std::uint64_t body_octets = 0;  ///< that were queued; fewer if the connection ended before
  Instant begun;                  ///< when the first octet of the request was read
  Instant now;                    ///< when the answer was queued whole, or the connection ended
  Duration srtt;                  ///< of the connection; zero: not looked at for this answer
};

/// Is told of answers. It must not call the stack.
class AnswerObserver {
 public:
  virtual ~AnswerObserver() = default;
  /// Each answer, when it is queued whole or its connection ends.
  virtual void answered(const Answered& answer) = 0;
  /// The client has acknowledged a whole answer, this long after the first octet of its request
  /// was read. Of several answers in flight on a connection only the first is timed.
  virtual void acknowledged(Duration latency) = 0;
};

/// Each connection of the stack has the slot of the same number here. All memory is allocated by
/// the constructor; a request allocates none. Behaviour depends only on the calls made.
class Server {
 public:
  /// `site` is complete. It must outlive the server, and the stack that lends from it.
  Server(const Site& site, const ServerSettings& settings, Count connections_max);

  /// Binds the site's regions and listens. Call before the first turn.
  [[nodiscard]] Refusal start(Stack& stack);

  /// From now on `observer` is told of each answer. It must live as long as the server; nullptr:
  /// nobody is told.
  void observe(AnswerObserver* observer) { observer_ = observer; }
  AnswerObserver* observer() const { return observer_; }

  // An Application that can be stopped (hw/poll/loop.hpp).
  void on_event(Stack& stack, const Event& event);
  void run(Stack& stack, Instant now);
  Instant deadline() const;
  void stop(Stack& stack, Instant now);
  bool done() const { return open_ == 0; }
  void abandon(Stack& stack, Instant now);

  /// All of its state as octets, taken between turns, and restored: only by the same build with the
  /// same site and settings. For any other octets restore() returns false and changes nothing.
  std::vector<std::byte> snapshot() const;
  bool restore(std::span<const std::byte> from);
  /// The largest size of a snapshot with this many connections.
  static std::uint64_t snapshot_bytes_max(Count connections);

  std::uint32_t open() const { return open_; }
  /// The listener, once started.
  ListenerId listener() const { return listener_; }
  const ServerCounters& counters() const { return counters_; }

 private:
  enum class Phase : std::uint8_t {
    none,
    reading,  // a request, or waiting for its first octet
    sending,  // a response that is not queued whole yet
    closing,  // our half is closed, or will be; received data is discarded
    dead,     // aborted; the `closed` event follows
  };
  enum Wait : std::uint32_t { silent, idle, request, send, linger };

  struct Slot {
    ConnectionId id;
    Phase phase = Phase::none;
    bool peer_finished = false;
    bool close_after = false;     // after this response
    bool finish_pending = false;  // the FIN was refused for lack of room
    bool ready = false;           // is in ready_
    bool counted = false;         // in clients_
    std::uint8_t go_ahead = 0;    // octets of 100 Continue that are not queued yet
    std::uint32_t earned = 0;     // octets since its timeout was last restarted
    std::uint16_t head_length = 0;
    std::uint16_t head_sent = 0;
    IpAddress client;            // known only if there is a limit for each, or an observer
    Status status = Status::ok;  // of this response
    std::uint32_t answers = 0;   // before this one
    std::uint64_t queued = 0;    // octets of all responses
    std::uint64_t acknowledged = 0;
    std::uint64_t timed_end = 0;  // of the answer that is timed, as `queued`; 0: none is
    Instant timed_begun;
    Instant begun;  // when the first octet of the request was read
    Body body;
    std::uint64_t begin = 0;     // the first octet of the body to lend
    std::uint64_t position = 0;  // the next one
    std::uint64_t end = 0;
    RequestReader reader;
    std::array<char, head_bytes_max> head;
  };

  // State that belongs to no slot or waiting list.
  struct Rest {
    std::uint64_t layout = sizeof(Slot);  // differs between most builds
    std::uint64_t slots = 0;
    std::uint64_t slots_in_use = 0;
    ListenerId listener;
    ServerCounters counters;
    std::uint32_t open = 0;
    std::uint32_t dying = 0;
    std::uint32_t ready_first = 0;
    std::uint32_t ready_count = 0;
    bool stopping = false;
  };

  Slot* slot_of(ConnectionId id);
  static std::uint32_t index_of_slot(const Slot& slot) { return slot.id.slot; }
  void accept(Stack& stack, const Event& event);
  void forget(Slot& slot, Cause cause, Instant now);
  void go_on(Stack& stack, Slot& slot);
  bool read_request(Stack& stack, Slot& slot);
  bool send_go_ahead(Stack& stack, Slot& slot);
  bool queue_go_ahead(Stack& stack, Slot& slot);
  void answer_upload(Slot& slot, ResponseHead head, Instant now);
  void answer(Slot& slot, Instant now);
  void answer_found(Slot& slot, const Resource& resource, ResponseHead head, Instant now);
  void answer_other(Slot& slot, std::string_view path, ResponseHead head, Instant now);
  void answer_with(Slot& slot, ResponseHead head, Instant now);
  UnixSeconds date_at(Instant now) const;
  bool send_answer(Stack& stack, Slot& slot);
  bool send_body(Stack& stack, Slot& slot);
  void finish(Stack& stack, Slot& slot);
  void abort(Stack& stack, Slot& slot);
  void discard(Stack& stack, Slot& slot);
  void progressed(Stack& stack, Slot& slot, Bytes octets);
  void earn(Slot& slot, Wait kind, Bytes octets, Instant now);
  void expire(Stack& stack, Instant now);
  bool is_over_limit(Stack& stack, Slot& slot);
  std::uint32_t room_wanted() const;
  bool is_short() const { return open_ - dying_ + room_wanted() > slots_.size(); }
  void make_room(Stack& stack, Instant now);
  void tell(const Slot& slot, Instant now, Duration srtt) const;
  void tell_queued(Stack& stack, Slot& slot);
  void tell_acknowledged(Slot& slot, Bytes octets, Instant now);
  void wait(Slot& slot, Wait kind, Instant now) {
    slot.earned = 0;
    waiting_.wait(index_of_slot(slot), kind, now);
  }

  const Site& site_;
  ServerSettings settings_;
  AnswerObserver* observer_ = nullptr;
  ListenerId listener_;
  bool stopping_ = false;
  std::uint32_t open_ = 0;
  std::uint32_t dying_ = 0;  // of them, in Phase::dead
  ServerCounters counters_;
  ClientCounts clients_;
  WaitingLists waiting_;
  std::vector<Slot> slots_;
  // A ring of connections with more requests to read than one visit reads. Each slot is in it once.
  std::vector<std::uint32_t> ready_;
  std::uint32_t ready_first_ = 0;
  std::uint32_t ready_count_ = 0;
};

}  // namespace lockstep::http
