// Calls of a script: open, name and close sockets, and wait for calls that block.
#include "conformance/script/calls.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "conformance/script/constants.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/suggestion.hpp"

namespace lockstep::conformance::script {
namespace {

struct Known {
  std::string_view name;
  std::size_t least, most;  // number of arguments
};

constexpr std::array<Known, 32> known_calls{
    {{"socket", 3, 3},        {"bind", 3, 3},       {"listen", 2, 2},     {"accept", 3, 3},
     {"accept4", 4, 4},       {"connect", 3, 3},    {"shutdown", 2, 2},   {"close", 1, 1},
     {"read", 3, 3},          {"readv", 3, 3},      {"recv", 4, 4},       {"recvfrom", 6, 6},
     {"recvmsg", 3, 3},       {"write", 3, 3},      {"writev", 3, 3},     {"send", 4, 4},
     {"sendto", 6, 6},        {"sendmsg", 3, 3},    {"fcntl", 2, 3},      {"ioctl", 3, 3},
     {"getsockopt", 5, 5},    {"setsockopt", 5, 5}, {"poll", 3, 3},       {"epoll_create", 1, 1},
     {"epoll_create1", 1, 1}, {"epoll_ctl", 4, 4},  {"epoll_wait", 4, 4}, {"getsockname", 3, 3},
     {"getpeername", 3, 3},   {"usleep", 1, 1},     {"pipe", 1, 1},       {"splice", 6, 6}}};

}  // namespace

std::string fault_of_call(const Call& call) {
  for (Known const& one : known_calls) {
    if (one.name != call.name) {
      continue;
    }
    std::size_t const count = call.arguments.size();
    if (count >= one.least && count <= one.most) {
      return {};
    }
    return fmt::format("{} has {} arguments, expected {}{}: correct the call", call.name, count,
                       one.least, one.most == one.least ? "" : fmt::format(" or {}", one.most));
  }
  std::vector<std::string> names;
  for (Known const& one : known_calls) {
    names.emplace_back(one.name);
  }
  return fmt::format(
      "the call {} is not known{}, expected one of the sockets' such as connect or "
      "write: remove it",
      call.name, tools::suggestion(call.name, names));
}

std::int64_t Caller::number(const Value& value) const {
  if (value.kind == Value::Kind::list && value.items.size() == 1) {
    return number(value.items[0]);
  }
  if (value.kind != Value::Kind::number) {
    refuse(value, "a number");
  }
  return value.number;
}

int Caller::fd_of(std::int64_t script) const {
  auto const found = fds_.find(script);
  return found == fds_.end() ? -1 : found->second;
}

Given Caller::given(std::int64_t result) const {
  Given out;
  out.result = result < 0 ? -1 : result;
  out.error = result < 0 ? errno : 0;
  out.waits = blocking_ && result < 0 && errno == EAGAIN;
  return out;
}

/// The script's number for a new descriptor: the expected one, or else the lowest that is free.
std::int64_t Caller::new_number(std::int64_t wanted) const {
  if (wanted >= 0) {
    return wanted;
  }
  std::int64_t number = 3;
  while (fds_.contains(number)) {
    ++number;
  }
  return number;
}

Given Caller::opened(std::int64_t live) {
  Given out = given(live);
  if (live < 0) {
    return out;
  }
  out.result = new_number(call_->result.value_or(-1));
  if (fds_.contains(out.result)) {
    throw tools::Failure(
        tools::ExitCode::bad_input,
        fmt::format("{}:{}:{}: the descriptor {} is still open, expected another "
                    "number for what {} returns: change one of the two",
                    script_.file, place_.line, place_.column, out.result, call_->name));
  }
  fds_[out.result] = static_cast<int>(live);
  opening_.erase(static_cast<int>(live));
  fast_open_.erase(static_cast<int>(live));
  if (!call_->name.starts_with("epoll")) {
    subject_ = static_cast<int>(live);
    apply_later(static_cast<int>(live));
  }
  return out;
}

void Caller::apply_later(int live) {
  SocketCalls& s = world_.calls();
  bool const v6 = script_.head.mode == IpMode::ipv6;
  for (LaterOption const& one : later_) {
    int level = SOL_SOCKET, name = SO_KEEPALIVE;
    if (one.what == LaterOption::What::keepalive_idle) {
      level = IPPROTO_TCP;
      name = TCP_KEEPIDLE;
    } else if (one.what == LaterOption::What::ttl) {
      level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
      name = v6 ? IPV6_UNICAST_HOPS : IP_TTL;
    }
    if (s.setsockopt(live, level, name, &one.value, sizeof one.value) != 0) {
      throw tools::Failure(
          tools::ExitCode::bad_input,
          fmt::format("{}:{}:{}: an earlier sysctl cannot be applied to the socket of {} "
                      "({}), expected another value: correct the sysctl",
                      script_.file, place_.line, place_.column, call_->name, error_name(errno)));
    }
  }
}

Given Caller::begin(const Call& call, Place place, bool blocking) {
  call_ = &call;
  place_ = place;
  blocking_ = blocking;
  connecting_ = false;
  done_ = 0;
  passed_ = {};
  return carry_out();
}

Given Caller::again(Duration passed) {
  passed_ = passed;
  return connecting_ ? connect_again() : carry_out();
}

Given Caller::carry_out() {
  static constexpr std::array<std::string_view, 10> moving{
      "read",  "readv",  "recv", "recvfrom", "recvmsg",
      "write", "writev", "send", "sendto",   "sendmsg"};
  std::string const& name = call_->name;
  errno = 0;
  if (name == "pipe") {
    return pipe();
  }
  if (name == "splice") {
    return splice();
  }
  bool const polls = name == "poll" || name.starts_with("epoll");
  if (!polls && name != "socket" && name != "usleep" && Pipes::is_end(fd(0))) {
    return on_pipe(name);
  }
  if (std::find(moving.begin(), moving.end(), name) != moving.end()) {
    return transfer(name);
  }
  if (polls) {
    return readiness(name);
  }
  if (name == "getsockopt" || name == "setsockopt" || name == "fcntl" || name == "ioctl") {
    return options(name);
  }
  return names(name);
}

Given Caller::names(const std::string& name) {
  SocketCalls& s = world_.calls();
  errno = 0;
  if (name == "socket") {
    int const domain = script_.head.mode == IpMode::ipv4 ? AF_INET : AF_INET6;
    return opened(s.socket(is_any(argument(0)) ? domain : static_cast<int>(number(0)),
                           static_cast<int>(number(1)), static_cast<int>(number(2))));
  }
  if (name == "bind") {
    Name const to = name_at(1, false);
    return given(s.bind(fd(0), reinterpret_cast<const sockaddr*>(&to.bytes), to.length));
  }
  if (name == "listen") {
    return given(s.listen(fd(0), static_cast<int>(number(1))));
  }
  if (name == "accept" || name == "accept4") {
    int const flags = name == "accept" ? 0 : static_cast<int>(number(3));
    sockaddr_storage into{};
    socklen_t length = sizeof into;
    Given out = opened(s.accept4(fd(0), reinterpret_cast<sockaddr*>(&into), &length, flags));
    judge_name(into, length, out);
    return out;
  }
  if (name == "connect") {
    return connect();
  }
  if (name == "shutdown") {
    return given(s.shutdown(fd(0), static_cast<int>(number(1))));
  }
  if (name == "getsockname" || name == "getpeername") {
    sockaddr_storage into{};
    socklen_t length = sizeof into;
    auto* const at = reinterpret_cast<sockaddr*>(&into);
    Given out = given(name == "getsockname" ? s.getsockname(fd(0), at, &length)
                                            : s.getpeername(fd(0), at, &length));
    judge_name(into, length, out);
    return out;
  }
  if (name == "usleep") {
    Given out;
    out.waits = passed_ < Duration::microseconds(static_cast<std::uint64_t>(number(0)));
    return out;
  }
  int const live = fd(0);
  Given const out = given(s.close(live));
  if (out.result == 0) {
    fds_.erase(number(0));
    subject_ = subject_ == live ? -1 : subject_;
  }
  return out;
}

Given Caller::connect() {
  Name const to = name_at(1, true);
  int const live = fd(0);
  SocketCalls& s = world_.calls();
  Given out = given(s.connect(live, reinterpret_cast<const sockaddr*>(&to.bytes), to.length));
  subject_ = live;
  // With Fast Open connect() returns 0 at once; the SYN is sent with the first data.
  bool const begins = out.result == 0 ? to.bytes.ss_family != AF_UNSPEC : out.error == EINPROGRESS;
  if (begins && opening_.insert(live).second) {
    flows_.begin_active(end_of(to));
  }
  if (blocking_ && out.result < 0 && out.error == EINPROGRESS) {
    connecting_ = true;
    out.waits = true;
  }
  return out;
}

std::optional<std::pair<Port, Port>> Caller::ports_of(int live) {
  const auto port_of = [](const sockaddr_storage& name) {
    in_port_t port = 0;  // at the same offset in both families
    std::memcpy(&port, reinterpret_cast<const std::byte*>(&name) + sizeof(sa_family_t),
                sizeof port);
    return Port{ntohs(port)};
  };
  SocketCalls& s = world_.calls();
  sockaddr_storage ours{}, theirs{};
  socklen_t length = sizeof ours, other = sizeof theirs;
  bool const named = s.getsockname(live, reinterpret_cast<sockaddr*>(&ours), &length) == 0 &&
                     s.getpeername(live, reinterpret_cast<sockaddr*>(&theirs), &other) == 0;
  return named ? std::optional(std::pair(port_of(ours), port_of(theirs))) : std::nullopt;
}

void Caller::refer_to(const Flow& flow) {
  for (auto const& [script, live] : fds_) {
    if (ports_of(live) == std::pair(flow.local.port, flow.remote.port)) {
      subject_ = live;
    }
  }
}

bool Caller::refer_to(std::int64_t descriptor) {
  int const live = fd_of(descriptor);
  auto const ports = live < 0 ? std::nullopt : ports_of(live);
  bool const known = ports && flows_.select(ports->first, ports->second);
  subject_ = known ? live : subject_;
  return known;
}

std::uint64_t Caller::count_in(const std::vector<tcp::State>& states) {
  const auto wanted = [&states](tcp::State state) {
    return states.empty() || std::find(states.begin(), states.end(), state) != states.end();
  };
  std::uint64_t out = 0;
  std::set<std::pair<std::uint16_t, std::uint16_t>> seen;
  for (Flow const& flow : flows_.all()) {
    auto const state = world_.state_of(flow.local, flow.remote);
    bool const connected = state && *state != tcp::State::closed && *state != tcp::State::listen &&
                           seen.insert({flow.local.port.value, flow.remote.port.value}).second;
    out += connected && wanted(*state) ? 1 : 0;
  }
  // Sockets without a connection are only known by their descriptors.
  for (auto const& [script, live] : fds_) {
    auto const info = world_.info_of(live);
    bool const listens = info && info->tcpi_state == TCP_LISTEN && wanted(tcp::State::listen);
    bool const closed = info && info->tcpi_state == TCP_CLOSE && wanted(tcp::State::closed);
    out += listens || closed ? 1 : 0;
  }
  return out;
}

/// Continues a connect() that blocks: it is complete when the socket is writable.
Given Caller::connect_again() {
  SocketCalls& s = world_.calls();
  pollfd entry{fd(0), POLLOUT, 0};
  Given out;
  out.waits = s.poll(&entry, 1) == 0;
  if (!out.waits) {
    int error = 0;
    socklen_t length = sizeof error;
    s.getsockopt(fd(0), SOL_SOCKET, SO_ERROR, &error, &length);
    out.result = error == 0 ? 0 : -1;
    out.error = error;
  }
  return out;
}

}  // namespace lockstep::conformance::script
