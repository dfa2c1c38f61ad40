// Calls of a script: text, options and readiness.
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "conformance/script/calls.hpp"
#include "conformance/script/constants.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr std::int64_t transfer_max = 64 << 20;

/// What a record says under a name, or at a place if it has none.
const Value* item(const Value& value, std::initializer_list<const char*> names, std::size_t at) {
  for (const char* const name : names) {
    if (const Value* const found = value.field(name, at)) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace

Given Caller::send_all(std::int64_t size, int flags, const Value* to) {
  lockstep_sockets* const s = world_.sockets();
  if (size < 0 || size > transfer_max) {
    refuse(argument(1), "at most 64 MiB");
  }
  text_.resize(std::max<std::size_t>(text_.size(), static_cast<std::size_t>(size)));
  Name const name = to == nullptr ? Name{} : name_of(to, true);
  bool const named = (flags & MSG_FASTOPEN) != 0;
  auto const left = static_cast<std::size_t>(size - done_);
  auto const taken = lockstep_sendto(
      s, fd(0), text_.data(), left, flags,
      named ? reinterpret_cast<const sockaddr*>(&name.bytes) : nullptr, named ? name.length : 0);
  Given out = given(taken);
  if (named && (taken > 0 || out.error == EINPROGRESS) && opening_.insert(fd(0)).second) {
    flows_.begin_active();
    subject_ = fd(0);
  }
  if (taken > 0) {
    done_ += taken;
    out.result = done_;
    out.waits = blocking_ && done_ < size;
  } else if (taken < 0 && done_ != 0 && !out.waits) {
    out.result = done_;
    out.error = 0;
  }
  return out;
}

Given Caller::receive(std::int64_t size, int flags) {
  if (size < 0 || size > transfer_max) {
    refuse(argument(1), "at most 64 MiB");
  }
  text_.resize(std::max<std::size_t>(text_.size(), static_cast<std::size_t>(size)));
  return given(lockstep_recv(world_.sockets(), fd(0), text_.data(),
                             static_cast<std::size_t>(size), flags));
}

Given Caller::transfer(const std::string& name) {
  errno = 0;
  if (name == "read" || name == "write") {
    return name == "read" ? receive(number(2), 0) : send_all(number(2), 0, nullptr);
  }
  if (name == "readv" || name == "writev") {
    std::int64_t const size = parts_of(argument(1));
    return name == "readv" ? receive(size, 0) : send_all(size, 0, nullptr);
  }
  if (name == "recv" || name == "recvfrom") {
    return receive(number(2), static_cast<int>(number(3)));
  }
  if (name == "send" || name == "sendto") {
    return send_all(number(2), static_cast<int>(number(3)),
                    name == "send" ? nullptr : &argument(4));
  }
  const Value* const parts = argument(1).field("msg_iov", 2);
  if (argument(1).kind != Value::Kind::record || parts == nullptr) {
    refuse(argument(1), "{msg_name(...)=..., msg_iov(1)=[{..., OCTETS}], msg_flags=0}");
  }
  std::int64_t const size = parts_of(*parts);
  auto const flags = static_cast<int>(number(2));
  return name == "recvmsg" ? receive(size, flags)
                           : send_all(size, flags, argument(1).field("msg_name", 0));
}

Given Caller::get_option() {
  alignas(8) std::byte value[512]{};
  socklen_t length = sizeof value;
  auto const level = static_cast<int>(number(1));
  auto const name = static_cast<int>(number(2));
  Value const& wanted = argument(3);
  bool const is_text = wanted.kind == Value::Kind::text;
  bool const is_record = wanted.kind == Value::Kind::record;
  if (level == SOL_SOCKET && name == SO_LINGER) {
    length = sizeof(linger);
  } else if (!is_text && !(level == IPPROTO_TCP && name == TCP_INFO)) {
    length = sizeof(int);
  }
  Given out = given(lockstep_getsockopt(world_.sockets(), fd(0), level, name, value, &length));
  if (out.result != 0 || wanted.kind == Value::Kind::ellipsis) {
    return out;
  }
  if (is_text) {
    std::string const text(reinterpret_cast<const char*>(value));
    out.wrong = text == wanted.text ? "" : fmt::format("the option is {}, not {}", text,
                                                       wanted.text);
  } else if (is_record) {
    const auto& got = *reinterpret_cast<const linger*>(value);
    const Value* const on = item(wanted, {"onoff", "l_onoff"}, 0);
    const Value* const time = item(wanted, {"linger", "l_linger"}, 1);
    if (on == nullptr || time == nullptr) {
      refuse(wanted, "{onoff=N, linger=N}");
    }
    bool const same = got.l_onoff == number(*on) && got.l_linger == number(*time);
    out.wrong = same ? "" : fmt::format("the option is {{onoff={}, linger={}}}", got.l_onoff,
                                        got.l_linger);
  } else {
    int const got = *reinterpret_cast<const int*>(value);
    bool const any = wanted.kind == Value::Kind::list && wanted.items.size() == 1 &&
                     wanted.items[0].kind == Value::Kind::ellipsis;
    out.wrong = any || got == number(wanted)
                    ? ""
                    : fmt::format("the option is {}, not {}", got, number(wanted));
  }
  return out;
}

Given Caller::set_option() {
  lockstep_sockets* const s = world_.sockets();
  auto const level = static_cast<int>(number(1));
  auto const name = static_cast<int>(number(2));
  Value const& value = argument(3);
  auto const length = static_cast<socklen_t>(number(4));
  if (value.kind == Value::Kind::text) {
    return given(lockstep_setsockopt(
        s, fd(0), level, name, value.text.c_str(),
        std::min(length, static_cast<socklen_t>(value.text.size()))));
  }
  if (value.kind == Value::Kind::record) {
    const Value* const on = item(value, {"onoff", "l_onoff"}, 0);
    const Value* const time = item(value, {"linger", "l_linger"}, 1);
    if (on == nullptr || time == nullptr) {
      refuse(value, "{onoff=N, linger=N}");
    }
    linger const set{static_cast<int>(number(*on)), static_cast<int>(number(*time))};
    return given(lockstep_setsockopt(s, fd(0), level, name, &set,
                                     std::min<socklen_t>(length, sizeof set)));
  }
  auto const set = static_cast<int>(number(value));
  return given(lockstep_setsockopt(s, fd(0), level, name, &set,
                                   std::min<socklen_t>(length, sizeof set)));
}

Given Caller::query() {
  Value const& wanted = argument(2);
  int value = 0;
  auto const request = static_cast<unsigned long>(number(1));
  bool const sets = request == 0x5421;  // FIONBIO
  if (sets) {
    value = static_cast<int>(number(wanted));
  }
  Given out = given(lockstep_ioctl(world_.sockets(), fd(0), request, &value));
  bool const any = wanted.kind == Value::Kind::ellipsis;
  if (out.result == 0 && !any && !sets && value != number(wanted)) {
    out.wrong = fmt::format("it is {}, not {}", value, number(wanted));
  }
  return out;
}

Given Caller::options(const std::string& name) {
  errno = 0;
  if (name == "getsockopt") {
    return get_option();
  }
  if (name == "setsockopt") {
    return set_option();
  }
  if (name == "ioctl") {
    return query();
  }
  int const argument_of = call_->arguments.size() == 3 ? static_cast<int>(number(2)) : 0;
  return given(
      lockstep_fcntl(world_.sockets(), fd(0), static_cast<int>(number(1)), argument_of));
}

Given Caller::poll() {
  Value const& list = argument(0);
  if (list.kind != Value::Kind::list) {
    refuse(list, "[{fd=N, events=POLLIN, revents=POLLIN}]");
  }
  std::vector<pollfd> entries;
  for (Value const& one : list.items) {
    const Value* const number_of = one.field("fd", 0);
    const Value* const events = one.field("events", 1);
    if (one.kind != Value::Kind::record || number_of == nullptr || events == nullptr) {
      refuse(one, "{fd=N, events=POLLIN, revents=POLLIN}");
    }
    entries.push_back({fd_of(number(*number_of)), static_cast<short>(number(*events)), 0});
  }
  Given out = given(lockstep_poll(world_.sockets(), entries.data(), entries.size()));
  std::int64_t const timeout = number(2);
  bool const timed_out =
      timeout >= 0 && passed_ >= Duration::milliseconds(static_cast<std::uint64_t>(timeout));
  out.waits = blocking_ && out.result == 0 && !timed_out;
  for (std::size_t i = 0; i < entries.size() && !out.waits; ++i) {
    const Value* const wanted = list.items[i].field("revents", 2);
    if (wanted == nullptr || wanted->kind == Value::Kind::ellipsis) {
      continue;
    }
    if (number(*wanted) != entries[i].revents) {
      out.wrong = fmt::format("revents is {:#x}, not {:#x}", entries[i].revents, number(*wanted));
    }
  }
  return out;
}

Given Caller::epoll_wait() {
  Value const& first = argument(1);
  epoll_event got[16]{};
  auto const most = static_cast<int>(std::clamp<std::int64_t>(number(2), -1, 16));
  Given out = given(lockstep_epoll_wait(world_.sockets(), fd(0), got, most));
  std::int64_t const timeout = number(3);
  bool const timed_out =
      timeout >= 0 && passed_ >= Duration::milliseconds(static_cast<std::uint64_t>(timeout));
  out.waits = blocking_ && out.result == 0 && !timed_out;
  std::vector<const Value*> wanted;
  if (first.kind == Value::Kind::record) {
    wanted.push_back(&first);
  }
  for (Value const& one : first.items) {
    if (first.kind == Value::Kind::list) {
      wanted.push_back(&one);
    }
  }
  for (std::size_t i = 0; i < wanted.size() && std::cmp_less(i, out.result); ++i) {
    const Value* const events = wanted[i]->field("events", 0);
    const Value* const number_of = item(*wanted[i], {"fd", "ptr", "u32", "u64"}, 1);
    if (events != nullptr && static_cast<std::uint32_t>(number(*events)) != got[i].events) {
      out.wrong = fmt::format("events is {:#x}, not {:#x}", std::uint32_t{got[i].events},
                              number(*events));
    } else if (number_of != nullptr && number(*number_of) != got[i].data.fd) {
      out.wrong = fmt::format("fd is {}, not {}", int{got[i].data.fd}, number(*number_of));
    }
  }
  return out;
}

Given Caller::readiness(const std::string& name) {
  errno = 0;
  lockstep_sockets* const s = world_.sockets();
  if (name == "poll") {
    return poll();
  }
  if (name == "epoll_wait") {
    return epoll_wait();
  }
  if (name == "epoll_create") {
    return opened(lockstep_epoll_create(s, static_cast<int>(number(0))));
  }
  if (name == "epoll_create1") {
    return opened(lockstep_epoll_create1(s, static_cast<int>(number(0))));
  }
  epoll_event event{};
  Value const& value = argument(3);
  if (value.kind == Value::Kind::record) {
    const Value* const events = value.field("events", 0);
    const Value* const number_of = item(value, {"fd", "ptr", "u32", "u64"}, 1);
    event.events = events == nullptr ? 0 : static_cast<std::uint32_t>(number(*events));
    event.data.fd = number_of == nullptr ? 0 : static_cast<int>(number(*number_of));
  }
  return given(lockstep_epoll_ctl(s, fd(0), static_cast<int>(number(1)), fd(2), &event));
}

}  // namespace lockstep::conformance::script
