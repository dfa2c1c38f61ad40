// The sockets of one stack: its Application, and the implementation of every call of sockets.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/units/random.hpp"
#include "tools/lib/sockets/descriptors.hpp"
#include "tools/lib/sockets/names.hpp"
#include "tools/lib/sockets/socket.hpp"
#include "tools/lib/sockets/sockets.h"

namespace lockstep::tools {
class Sockets;
}

/// The opaque type of the C calls.
struct lockstep_sockets {
  lockstep::tools::Sockets& self;
};

namespace lockstep::tools {

struct NumberedOption;

/// A descriptor, a number of octets, 0, or a negative errno.
using Result = std::int64_t;

/// How many descriptors there are, and the limits of epoll.
struct SocketSettings {
  Descriptors::Range descriptors;
  Count epolls_max{64};
  Count items_max{4096};  ///< sockets watched, summed over all epolls
};

/// Counters since the object was made.
struct SocketCounters {
  std::uint64_t accepted = 0;     ///< connections accepted by the stack
  std::uint64_t turned_away = 0;  ///< of these: aborted because no socket was free
  std::uint64_t orphans = 0;      ///< closed while the stack had no room for the FIN
};

/// Works with turn() of core/stack and with the loop of hw/poll. It buffers no data: received data
/// stays in the stack until it is read, and written data is copied straight into the stack. All
/// memory is allocated by the constructor; behaviour depends only on the calls made. Not
/// thread-safe.
class Sockets {
 public:
  /// The stack must outlive this object, and its events must go to this object only.
  Sockets(Stack& stack, const SocketSettings& settings = {});
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  /// The context for the calls of sockets.h; valid as long as this object.
  lockstep_sockets* c() { return &handle_; }
  Stack& stack() { return stack_; }
  const Stack& stack() const { return stack_; }
  const SocketCounters& counters() const { return counters_; }
  std::uint32_t descriptors_open() const { return descriptors_.used(); }

  // An Application that can be stopped (hw/poll/loop.hpp).
  void on_event(Stack& stack, const Event& event);
  /// Calls the function that on_turn() has named. To be called once in each turn.
  void run(Stack& stack, Instant now);
  Instant deadline() const { return earlier(wake_at_, defer_at_); }
  /// Closes every descriptor; abandon() then aborts the connections that are still closing.
  void stop(Stack& stack, Instant now);
  bool done() const { return live_ == 0; }
  /// Aborts what stop() has left open.
  void abandon(Stack& stack, Instant now);

  // The calls of sockets.h.
  Result socket(int domain, int type, int protocol);
  /// As lockstep_bind() of sockets.h.
  Result bind(int fd, NameIn name);
  /// As lockstep_listen() of sockets.h.
  Result listen(int fd, int backlog);
  /// As lockstep_accept4() of sockets.h.
  Result accept(int fd, sockaddr* address, socklen_t* length, int flags);
  /// As lockstep_connect() of sockets.h.
  Result connect(int fd, NameIn name);
  /// As lockstep_shutdown() of sockets.h.
  Result shutdown(int fd, int how);
  /// As lockstep_close() of sockets.h.
  Result close(int fd);
  /// As lockstep_getsockname() of sockets.h.
  Result local_name(int fd, sockaddr* address, socklen_t* length);
  /// As lockstep_getpeername() of sockets.h.
  Result peer_name(int fd, sockaddr* address, socklen_t* length);

  /// As lockstep_readv() of sockets.h.
  Result receive(int fd, std::span<const iovec> parts, int flags);
  /// As lockstep_writev() of sockets.h.
  Result send(int fd, std::span<const iovec> parts, int flags, NameIn to = {});

  /// As lockstep_getsockopt() of sockets.h.
  Result get_option(int fd, int level, int name, void* value, socklen_t* length);
  /// As lockstep_setsockopt() of sockets.h.
  Result set_option(int fd, int level, int name, const void* value, socklen_t length);
  /// As lockstep_fcntl() of sockets.h.
  Result control(int fd, int command, int argument);
  /// As lockstep_ioctl() of sockets.h.
  Result query(int fd, unsigned long request, void* argument);

  /// As lockstep_poll() of sockets.h.
  Result poll(std::span<pollfd> entries);
  /// As lockstep_epoll_create1() of sockets.h.
  Result create_epoll(int flags);
  /// As lockstep_epoll_ctl() of sockets.h.
  Result watch(int epfd, int operation, int fd, const epoll_event* event);
  /// As lockstep_epoll_wait() of sockets.h.
  Result ready(int epfd, std::span<epoll_event> into);

  void on_turn(lockstep_turn_function function, void* user) { hook_ = {function, user}; }
  void wake_at(Instant at) { wake_at_ = at; }

  /// Called for each connection that connect() opens and for each listener of the stack, before any
  /// event of theirs.
  struct Announce {
    void (*connection)(void* user, ConnectionId id) = nullptr;
    void (*listener)(void* user, ListenerId id) = nullptr;
    void* user = nullptr;
  };
  void announce(const Announce& to) { announce_ = to; }

  /// CHECKs that lists, counts and pools agree; for tests.
  void check_invariants() const;

 private:
  struct Hook {
    lockstep_turn_function function = nullptr;
    void* user = nullptr;
  };

  // Records.
  Result find(int fd, Socket*& out);
  Place place_of(const Socket& s) const { return static_cast<Place>(&s - sockets_.data()); }
  Socket* of_connection(ConnectionId id);
  Socket* take();
  void release(Socket& s);
  Result give_descriptor(Socket& s, int flags);

  // Names.
  bool is_ours(IpAddress address) const;
  bool has_v6() const;
  bool has_v4() const;
  bool conflicts(const Socket& s, const Endpoint& with) const;
  Result draw_port(const Socket& s, Endpoint& name);
  void enter_name(Socket& s);
  void leave_name(Socket& s);
  Place& bucket(Port port) { return named_[port.value % named_.size()]; }
  Place bucket(Port port) const { return named_[port.value % named_.size()]; }

  // Listening.
  Result open_listeners(Socket& s);
  Result open_listener(Socket& s, IpAddress address);
  Backlog backlog_of(const Socket& s) const;
  void offer_anew(const Socket& s);
  Result change_backlog(Socket& s, std::uint32_t backlog);
  void end_listening(Socket& s);
  void take_accepted(const Event& event);
  Socket* pop_waiting(Socket& listener);
  Socket* listener_of(const Socket& s);
  void make_room(Socket& listener, ListenerId from);
  void push_waiting(Socket& listener, Socket& s);
  void end_deferral(Socket& s);
  void end_deferrals(Instant now);
  void drop_deferred(const Socket& listener);

  // Connections.
  Result connect_again(Socket& s);
  Open open_of(const Socket& s, const Endpoint& to, bool fast_open) const;
  Result open_connection(Socket& s, const Endpoint& to, bool fast_open);
  Result open_with_data(Socket& s, const Endpoint& to, std::span<const iovec> parts, int flags);
  void note_acknowledged(Socket& s, Bytes octets);
  void note_room(Socket& s);
  void apply_pending_options(const Socket& s);
  void adopt(Socket& s, ConnectionId id);
  void forget_connection(Socket& s);
  void disconnect(Socket& s);
  void finish(Socket& s);
  void end(Socket& s, Cause cause);
  void retry(Socket& s);
  static int errno_of(const Socket& s, Cause cause);
  static Result take_error(Socket& s);
  Result take_any_error(Socket& s);  // soft errors included
  void note_soft_error(Socket& s, Cause cause);
  static void forget_soft_error(Socket& s, Instant heard_at);

  // Data.
  Result copy_unread(Socket& s, std::span<const iovec> parts, int flags);
  Result read_nothing(Socket& s);
  Result may_write(Socket& s);
  Result write_parts(Socket& s, std::span<const iovec> parts, int flags);
  void note_refused(Socket& s, Refusal refusal);
  void consume(Socket& s, std::uint32_t octets);
  std::uint32_t held_back(const Socket& s) const;
  bool unsent_is_low(const Socket& s) const;
  std::size_t room_by_unsent(Socket& s, std::size_t size) const;

  // Options.
  Result get_socket_level(Socket& s, int name, void* value, socklen_t* length);
  Result get_tcp_level(Socket& s, int name, void* value, socklen_t* length);
  Result get_ip_level(Socket& s, int level, int name, void* value, socklen_t* length);
  Result set_socket_level(Socket& s, int name, const void* value, socklen_t length);
  Result set_tcp_level(Socket& s, int name, const void* value, socklen_t length);
  Result set_no_delay(Socket& s, int in);
  Result set_cork(Socket& s, int in);
  Result set_user_timeout(Socket& s, int in);
  Result set_fast_open(Socket& s, int in);
  Result set_fast_open_connect(Socket& s, int in);
  Result set_defer_accept(Socket& s, int in);
  Result set_notsent_low(Socket& s, int in);
  Result set_window_clamp(Socket& s, int in);
  std::uint32_t window_clamp_option_of(const Socket& s) const;
  std::uint32_t first_window_of(const Socket& s) const;
  void adopt_window_clamp(Socket& s) const;
  void clamp_window(const Socket& s, std::uint32_t consumed = 0);
  Result set_numbered(Socket& s, const NumberedOption& option, int in);
  Result set_ip_level(Socket& s, int level, int name, const void* value, socklen_t length);
  Result set_mtu_discover(Socket& s, int in);
  int mtu_discover_of(const Socket& s) const;
  Result set_pending(Socket& s, Setting setting);
  void push(const Socket& s);
  Result wish_in_account(Socket& s, Setting setting);
  Result set_congestion(Socket& s, const void* value, socklen_t length);
  std::uint32_t buffer_option_of(const Socket& s, SettingKind kind) const;
  std::uint32_t pending_or_default(const Socket& s, SettingKind kind) const;
  /// Of a connection it may be rounded up to full segments: Config::receive_buffer_rounded.
  std::uint32_t receive_buffer_of(const Socket& s) const;
  lockstep_tcp_info info_of(const Socket& s) const;
  void fill_history(const Socket& s, const ConnectionInfo& info, lockstep_tcp_info& out) const;
  std::uint32_t mtu_of(const Socket& s) const;
  void note_announced_mss(Socket& s, const Socket& by) const;
  std::uint32_t mss_of(const Socket& s) const;
  std::uint32_t limit_to_mark(const Socket& s) const;
  void note_urgent(Socket& s, Bytes ahead);
  bool at_hidden_octet(const Socket& s) const;
  bool urgent_arrived(const Socket& s) const;
  bool tells_of_urgent(const Socket& s) const;
  std::uint32_t readable_before_mark(const Socket& s) const;
  std::uint32_t skip_hidden_octet(Socket& s, bool peek);
  Result receive_urgent(Socket& s, std::span<const iovec> parts, int flags);

  // Readiness.
  std::uint32_t events_of(Socket& s);
  void wake(Socket& s, std::uint32_t events);
  Item* item_of(Place epoll, const Socket& s);
  void list_item(Item& item);
  void unlist_item(Item& item);
  void forget_item(Item& item);
  void forget_items(Socket& s);
  void close_epoll(Place place);
  bool any_ready(Place epoll);
  Result add_item(Place epoll, Socket& s, const epoll_event& event);

  Stack& stack_;
  lockstep_sockets handle_{*this};
  Descriptors descriptors_;
  std::vector<Socket> sockets_;
  Place free_socket_ = nowhere;
  std::uint32_t live_ = 0;            // sockets that are not free
  std::vector<Place> by_connection_;  // by the connection's slot
  std::vector<Place> by_listener_;    // by the listener's slot
  std::vector<Place> named_;          // by the port
  std::vector<Epoll> epolls_;
  std::vector<Item> items_;
  Place free_item_ = nowhere;
  Random random_;  // draws ports
  Instant wake_at_ = Instant::never();
  Instant defer_at_ = Instant::never();  // no later than the earliest end of a deferral
  Hook hook_;
  Announce announce_;
  SocketCounters counters_;
};

}  // namespace lockstep::tools
