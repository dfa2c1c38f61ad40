// Calls of a script: data transfer, options and readiness.
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "conformance/script/calls.hpp"
#include "conformance/script/constants.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr std::int64_t transfer_max = 64 << 20;

}  // namespace

int Caller::int_of(const Value& value) const {
  std::int64_t const out = number(value);
  if (out < INT32_MIN || out > UINT32_MAX) {
    refuse(value, "a number of 32 bits");
  }
  return static_cast<int>(out);
}

/// The octets of each part of a list of {buffer, octets}; `count`: how many parts the call uses.
std::vector<std::int64_t> Caller::parts_of(const Value& value, const Value* count) const {
  if (value.kind != Value::Kind::list) {
    refuse(value, "a list of {..., OCTETS}");
  }
  std::vector<std::int64_t> out;
  std::int64_t total = 0;
  for (Value const& part : value.items) {
    const Value* const size = item(part, {"iov_len"}, 1);
    if (part.kind != Value::Kind::record || size == nullptr) {
      refuse(part, "{..., OCTETS}");
    }
    check_names(part, {"iov_base", "iov_len"});
    out.push_back(number(*size));
    total += out.back();
    if (out.back() < 0 || total > transfer_max) {
      refuse(part, "at most 64 MiB");
    }
  }
  bool const given = count != nullptr && count->kind != Value::Kind::ellipsis;
  std::int64_t const wanted = given ? number(*count) : std::ssize(out);
  if (wanted < 0 || wanted > std::ssize(out)) {
    refuse(*count, fmt::format("0 to {}, as many as the list has", out.size()));
  }
  out.resize(static_cast<std::size_t>(wanted));
  return out;
}

Caller::Transfer Caller::transfer_of(const std::string& name) const {
  Transfer out;
  if (name == "readv" || name == "writev") {
    out.way = Transfer::Way::vector;
    out.parts = parts_of(argument(1), &argument(2));
    return out;
  }
  if (name == "recvmsg" || name == "sendmsg") {
    Value const& message = argument(1);
    const Value* const parts =
        message.kind == Value::Kind::record ? message.field("msg_iov", 2) : nullptr;
    if (parts == nullptr) {
      refuse(message, "{msg_name(...)=..., msg_iov(1)=[{..., OCTETS}], msg_flags=0}");
    }
    check_names(message, {"msg_name", "msg_iov", "msg_flags", "msg_control"});
    out.way = Transfer::Way::message;
    out.parts = parts_of(*parts, nullptr);
    out.flags = int_of(argument(2));
    out.name = message.field("msg_name", 0);
    return out;
  }
  out.parts = {number(2)};
  if (out.parts[0] < 0 || out.parts[0] > transfer_max) {
    refuse(argument(2), "at most 64 MiB");
  }
  if (name == "read" || name == "write") {
    return out;
  }
  out.way = name == "recv" || name == "send" ? Transfer::Way::flagged : Transfer::Way::named;
  out.flags = int_of(argument(3));
  if (out.way == Transfer::Way::named) {
    out.name = &argument(4);
    out.length = &argument(5);
  }
  return out;
}

/// The memory after the octets that were transferred already.
std::vector<iovec> Caller::memory_for(const Transfer& what, std::int64_t skip) {
  std::size_t total = 0;
  for (std::int64_t const part : what.parts) {
    total += static_cast<std::size_t>(part);
  }
  text_.resize(std::max(text_.size(), total));
  std::vector<iovec> out;
  std::byte* at = text_.data();
  for (std::int64_t const part : what.parts) {
    std::int64_t const over = std::min(skip, part);
    skip -= over;
    out.push_back({at + over, static_cast<std::size_t>(part - over)});
    at += part;
  }
  return out;
}

Given Caller::send_all(const Transfer& what) {
  SocketCalls& s = world_.calls();
  std::vector<iovec> parts = memory_for(what, done_);
  std::int64_t const size = std::accumulate(what.parts.begin(), what.parts.end(), std::int64_t{0});
  bool const by_option = what.way == Transfer::Way::named && fast_open_.contains(fd(0));
  bool const opens = (what.flags & MSG_FASTOPEN) != 0 || by_option;
  Name name = opens && what.name != nullptr ? name_of(what.name, true) : Name{};
  auto* const to = name.length == 0 ? nullptr : reinterpret_cast<sockaddr*>(&name.bytes);
  auto const count = static_cast<int>(parts.size());
  ssize_t taken = 0;
  switch (what.way) {
    case Transfer::Way::plain:
      taken = s.write(fd(0), parts[0].iov_base, parts[0].iov_len);
      break;
    case Transfer::Way::flagged:
      taken = s.send(fd(0), parts[0].iov_base, parts[0].iov_len, what.flags);
      break;
    case Transfer::Way::named:
      taken = s.sendto(fd(0), parts[0].iov_base, parts[0].iov_len, what.flags, to, name.length);
      break;
    case Transfer::Way::vector:
      taken = s.writev(fd(0), parts.data(), count);
      break;
    case Transfer::Way::message: {
      msghdr const message{to, name.length, parts.data(), parts.size(), nullptr, 0, 0};
      taken = s.sendmsg(fd(0), &message, what.flags);
      break;
    }
  }
  Given out = given(taken);
  if (opens && (taken > 0 || out.error == EINPROGRESS) && opening_.insert(fd(0)).second) {
    flows_.begin_active(end_of(name));
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

Given Caller::receive(const Transfer& what) {
  SocketCalls& s = world_.calls();
  std::vector<iovec> parts = memory_for(what, 0);
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  if (what.way == Transfer::Way::plain) {
    return given(s.read(fd(0), parts[0].iov_base, parts[0].iov_len));
  }
  if (what.way == Transfer::Way::flagged) {
    return given(s.recv(fd(0), parts[0].iov_base, parts[0].iov_len, what.flags));
  }
  if (what.way == Transfer::Way::vector) {
    return given(s.readv(fd(0), parts.data(), static_cast<int>(parts.size())));
  }
  // On a connection no address is returned.
  if (what.name != nullptr && what.name->kind != Value::Kind::ellipsis) {
    refuse(*what.name, "...: a connection returns no address here");
  }
  if (what.way == Transfer::Way::named) {
    Given out = given(s.recvfrom(fd(0), parts[0].iov_base, parts[0].iov_len, what.flags,
                                 reinterpret_cast<sockaddr*>(&from), &length));
    out.wrong = out.result < 0 ? "" : wrong_length(*what.length, length);
    return out;
  }
  msghdr message{&from, length, parts.data(), parts.size(), nullptr, 0, 0};
  Given out = given(s.recvmsg(fd(0), &message, what.flags));
  const Value* const flags = argument(1).field("msg_flags", 3);
  bool const compared = out.result >= 0 && flags != nullptr && flags->kind != Value::Kind::ellipsis;
  if (compared && number(*flags) != message.msg_flags) {
    out.wrong = fmt::format("msg_flags is {:#x}, not {:#x}", message.msg_flags, number(*flags));
  }
  const Value* const control = argument(1).field("msg_control", 4);
  bool const wanted = control != nullptr && control->kind == Value::Kind::list;
  if (out.result >= 0 && wanted && !control->items.empty()) {
    out.wrong = fmt::format("msg_control has no item, not {}", control->items.size());
  }
  return out;
}

Given Caller::transfer(const std::string& name) {
  errno = 0;
  bool const reads = name.starts_with("re");
  return reads ? receive(transfer_of(name)) : send_all(transfer_of(name));
}

Given Caller::get_option() {
  alignas(8) std::byte value[512]{};
  socklen_t length = sizeof value;
  auto const level = static_cast<int>(number(1));
  auto const name = static_cast<int>(number(2));
  Value const& wanted = argument(3);
  bool const is_text = wanted.kind == Value::Kind::text;
  if (level == SOL_SOCKET && name == SO_LINGER) {
    length = sizeof(linger);
  } else if (!is_text && !(level == IPPROTO_TCP && name == TCP_INFO)) {
    length = sizeof(int);
  }
  // The script's length is passed in, and must be returned unchanged.
  Value const& room = argument(4);
  bool const any_room = is_any(room) || (room.items.size() == 1 && is_any(room.items[0]));
  if (!any_room) {
    std::int64_t const octets = number(room);
    if (octets < 0 || octets > static_cast<std::int64_t>(sizeof value)) {
      refuse(room, fmt::format("a length, 0 to {}", sizeof value));
    }
    length = static_cast<socklen_t>(octets);
  }
  Given out = given(world_.calls().getsockopt(fd(0), level, name, value, &length));
  if (out.result != 0) {
    return out;
  }
  judge_option(wanted, value, out);
  out.wrong = out.wrong.empty() ? wrong_length(room, length) : out.wrong;
  return out;
}

/// Compares an option's value with the one in the script.
void Caller::judge_option(const Value& wanted, const std::byte* value, Given& out) const {
  if (wanted.kind == Value::Kind::ellipsis) {
    return;
  }
  if (wanted.kind == Value::Kind::text) {
    std::string const text(reinterpret_cast<const char*>(value));
    out.wrong =
        text == wanted.text ? "" : fmt::format("the option is {}, not {}", text, wanted.text);
  } else if (wanted.kind == Value::Kind::record) {
    check_names(wanted, {"onoff", "l_onoff", "linger", "l_linger"});
    linger got{};
    std::memcpy(&got, value, sizeof got);
    const Value* const on = item(wanted, {"onoff", "l_onoff"}, 0);
    const Value* const time = item(wanted, {"linger", "l_linger"}, 1);
    if (on == nullptr || time == nullptr) {
      refuse(wanted, "{onoff=N, linger=N}");
    }
    bool const same = got.l_onoff == number(*on) && got.l_linger == number(*time);
    out.wrong =
        same ? "" : fmt::format("the option is {{onoff={}, linger={}}}", got.l_onoff, got.l_linger);
  } else {
    int got = 0;
    std::memcpy(&got, value, sizeof got);
    bool const any = wanted.items.size() == 1 && is_any(wanted.items[0]);
    out.wrong = any || got == int_of(wanted)
                    ? ""
                    : fmt::format("the option is {}, not {}", got, number(wanted));
  }
}

Given Caller::set_option() {
  Value const& value = argument(3);
  std::byte bytes[512]{};
  std::int64_t const length = number(4);
  if (length < 0 || length > static_cast<std::int64_t>(sizeof bytes)) {
    refuse(argument(4), fmt::format("a length, 0 to {}", sizeof bytes));
  }
  if (value.kind == Value::Kind::text) {
    std::memcpy(bytes, value.text.data(), std::min(value.text.size(), sizeof bytes));
  } else if (value.kind == Value::Kind::record && !value.names.empty() &&
             value.names[0] == "function_set_name") {
    // TCP_FUNCTION_BLK of FreeBSD: its default stack is the one that the profile imitates.
    if (value.items[0].text != "freebsd") {
      refuse(value.items[0], "\"freebsd\": there is no other set of functions");
    }
    return {};
  } else if (value.kind == Value::Kind::record) {
    check_names(value, {"onoff", "l_onoff", "linger", "l_linger"});
    const Value* const on = item(value, {"onoff", "l_onoff"}, 0);
    const Value* const time = item(value, {"linger", "l_linger"}, 1);
    if (on == nullptr || time == nullptr) {
      refuse(value, "{onoff=N, linger=N}");
    }
    linger const set{int_of(*on), int_of(*time)};
    std::memcpy(bytes, &set, sizeof set);
  } else {
    int const set = int_of(value);
    std::memcpy(bytes, &set, sizeof set);
  }
  Given const out = given(world_.calls().setsockopt(fd(0), int_of(argument(1)), int_of(argument(2)),
                                                    bytes, static_cast<socklen_t>(length)));
  if (out.result == 0 && number(1) == IPPROTO_TCP && number(2) == TCP_FASTOPEN) {
    fast_open_.insert(fd(0));
  }
  return out;
}

Given Caller::query() {
  Value const& wanted = argument(2);
  int value = 0;
  auto const request = static_cast<unsigned long>(number(1));
  bool const sets = request == 0x5421;  // FIONBIO
  if (sets) {
    value = static_cast<int>(number(wanted));
  }
  Given out = given(world_.calls().ioctl(fd(0), request, &value));
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
  return given(world_.calls().fcntl(fd(0), static_cast<int>(number(1)), argument_of));
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
    check_names(one, {"fd", "events", "revents"});
    entries.push_back({fd_of(number(*number_of)), static_cast<short>(number(*events)), 0});
  }
  std::int64_t const count = is_any(argument(1)) ? std::ssize(entries) : number(1);
  if (count < 0 || count > std::ssize(entries)) {
    refuse(argument(1), fmt::format("0 to {}, as many as the list has", entries.size()));
  }
  entries.resize(static_cast<std::size_t>(count));
  Given out = given(world_.calls().poll(entries.data(), entries.size()));
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
  Given out = given(world_.calls().epoll_wait(fd(0), got, most));
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
    check_names(*wanted[i], {"events", "fd", "ptr", "u32", "u64"});
    const Value* const events = wanted[i]->field("events", 0);
    const Value* const number_of = item(*wanted[i], {"fd", "ptr", "u32", "u64"}, 1);
    if (events != nullptr && static_cast<std::uint32_t>(number(*events)) != got[i].events) {
      out.wrong =
          fmt::format("events is {:#x}, not {:#x}", std::uint32_t{got[i].events}, number(*events));
    } else if (number_of != nullptr && number(*number_of) != got[i].data.fd) {
      out.wrong = fmt::format("fd is {}, not {}", int{got[i].data.fd}, number(*number_of));
    }
  }
  return out;
}

Given Caller::readiness(const std::string& name) {
  errno = 0;
  SocketCalls& s = world_.calls();
  if (name == "poll") {
    return poll();
  }
  if (name == "epoll_wait") {
    return epoll_wait();
  }
  if (name == "epoll_create") {
    return opened(s.epoll_create(static_cast<int>(number(0))));
  }
  if (name == "epoll_create1") {
    return opened(s.epoll_create1(static_cast<int>(number(0))));
  }
  epoll_event event{};
  Value const& value = argument(3);
  if (value.kind == Value::Kind::record) {
    check_names(value, {"events", "fd", "ptr", "u32", "u64"});
    const Value* const events = value.field("events", 0);
    const Value* const number_of = item(value, {"fd", "ptr", "u32", "u64"}, 1);
    event.events = events == nullptr ? 0 : static_cast<std::uint32_t>(number(*events));
    event.data.fd = number_of == nullptr ? 0 : static_cast<int>(number(*number_of));
  }
  return given(s.epoll_ctl(fd(0), static_cast<int>(number(1)), fd(2), &event));
}

}  // namespace lockstep::conformance::script
