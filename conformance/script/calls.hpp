// Executes the calls of a script on the sockets of the stack.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "conformance/script/flow.hpp"
#include "conformance/script/pipes.hpp"
#include "conformance/script/settings.hpp"
#include "conformance/script/sysctl.hpp"
#include "conformance/script/world.hpp"

namespace lockstep::conformance::script {

/// The outcome of a call. `waits`: it would block, and is to be retried after the next event.
struct Given {
  std::int64_t result = 0;
  int error = 0;
  bool waits = false;
  std::string wrong;  ///< another difference, such as an option's value: "SO_ERROR is 104, not 0"
};

/// The item of a record with one of these names, or at position `at` if its items have no names.
const Value* item(const Value& value, std::initializer_list<const char*> names, std::size_t at);

/// Why the call is unknown or has the wrong number of arguments; empty: it is valid.
std::string fault_of_call(const Call& call);

class Caller {
 public:
  Caller(const Script& script, const Plan& plan, World& world, Flows& flows)
      : script_(script), plan_(plan), world_(world), flows_(flows) {}

  /// Starts a call. A call that would block waits only if `blocking`.
  Given begin(const Call& call, Place place, bool blocking);
  /// Retries a waiting call; `passed`: the time since it started.
  Given again(Duration passed);

  /// The connection under test: the last one accepted or connected; -1: none.
  int subject() const { return subject_; }
  /// Applies the option to every socket created or accepted from now on.
  void set_later(const LaterOption& option) { later_.push_back(option); }
  /// How many sockets and connections of the script are in one of these states.
  std::uint64_t count_in(const std::vector<tcp::State>& states);
  /// Makes this the connection that the script refers to from now on.
  void refer_to(const Flow& flow);
  /// Makes the connection of the script's descriptor the current one, and its tcpi_ fields. False:
  /// it has none.
  bool refer_to(std::int64_t descriptor);

 private:
  Given carry_out();
  Given names(const std::string& name);
  Given transfer(const std::string& name);
  Given options(const std::string& name);
  Given readiness(const std::string& name);
  Given pipe();
  Given on_pipe(const std::string& name);
  std::int64_t read_pipe(int end, std::int64_t most);
  std::int64_t write_pipe(int end, std::int64_t most);
  Given splice();
  std::int64_t splice_out(int from, int to, std::int64_t most, std::int64_t flags);
  std::int64_t splice_in(int from, int to, std::int64_t most);
  Given connect();
  Given connect_again();
  /// The data of a call, and which of the socket calls transfers it.
  struct Transfer {
    enum class Way : std::uint8_t { plain, flagged, named, vector, message };
    Way way = Way::plain;
    std::vector<std::int64_t> parts;
    int flags = 0;
    const Value* name = nullptr;    ///< the address of the other end
    const Value* length = nullptr;  ///< the length of that address
  };
  Transfer transfer_of(const std::string& name) const;
  std::vector<iovec> memory_for(const Transfer& what, std::int64_t skip);
  Given send_all(const Transfer& what);
  Given receive(const Transfer& what);
  Given get_option();
  Given set_option();
  void judge_option(const Value& wanted, const std::byte* value, Given& out) const;
  Given query();
  Given poll();
  Given epoll_wait();
  Given given(std::int64_t result) const;
  Given opened(std::int64_t live);
  void apply_later(int live);
  std::int64_t new_number(std::int64_t wanted) const;

  [[noreturn]] void refuse(const Value& at, const std::string& expected) const {
    refuse(at.place, expected);
  }
  [[noreturn]] void refuse(Place at, const std::string& expected) const;
  const Value& argument(std::size_t at) const { return call_->arguments[at]; }
  std::int64_t number(std::size_t at) const { return number(argument(at)); }
  std::int64_t number(const Value& value) const;
  int fd(std::size_t at) const { return fd_of(number(at)); }
  int fd_of(std::int64_t script) const;
  /// Ours and the peer's; none: it has no connection.
  std::optional<std::pair<Port, Port>> ports_of(int live);
  int int_of(const Value& value) const;
  std::vector<std::int64_t> parts_of(const Value& value, const Value* count) const;
  struct Name {
    sockaddr_storage bytes{};
    socklen_t length = 0;
  };
  Name name_of(const Value* value, bool remote) const;
  Name name_at(std::size_t at, bool remote) const;
  static Endpoint end_of(const Name& name);
  void judge_name(const sockaddr_storage& got, socklen_t length, Given& out) const;
  IpAddress address_of(const Value& value) const;
  std::string wrong_name(const Value& wanted, const sockaddr_storage& got) const;
  std::string wrong_length(const Value& wanted, socklen_t got) const;
  void check_names(const Value& record, std::initializer_list<std::string_view> names) const;

  const Script& script_;
  const Plan& plan_;
  World& world_;
  Flows& flows_;
  std::vector<LaterOption> later_;
  std::set<int> opening_;            // descriptors with an active open
  std::set<int> fast_open_;          // descriptors with TCP_FASTOPEN, by which sendto() opens
  std::map<std::int64_t, int> fds_;  // the script's descriptor to ours
  Pipes pipes_;
  int subject_ = -1;
  const Call* call_ = nullptr;
  Place place_;
  bool blocking_ = false;
  bool connecting_ = false;
  std::int64_t done_ = 0;  // octets written so far by a waiting call
  Duration passed_;
  std::vector<std::byte> text_;
};

}  // namespace lockstep::conformance::script
