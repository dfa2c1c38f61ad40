// Calls of a script on pipes: pipe(), and splice() between a pipe and a socket.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "conformance/script/calls.hpp"

namespace lockstep::conformance::script {
namespace {

std::int64_t fails(int error) {
  errno = error;
  return -1;
}

}  // namespace

Pipes::Ends Pipes::open() {
  int const at = first + 2 * static_cast<int>(pipes_.size());
  pipes_.emplace_back();
  return {at, at + 1};
}

int Pipes::close(int end) {
  (is_read_end(end) ? at(end).read_open : at(end).write_open) = false;
  return 0;
}

/// pipe([5, 6]): the numbers in the list become the script's descriptors.
Given Caller::pipe() {
  Value const& list = argument(0);
  if (list.kind != Value::Kind::list || list.items.size() != 2) {
    refuse(list, "a list of two descriptors");
  }
  std::int64_t const ends[] = {number(list.items[0]), number(list.items[1])};
  for (int i = 0; i < 2; ++i) {
    if (ends[i] < 0 || fds_.contains(ends[i]) || ends[0] == ends[1]) {
      refuse(list.items[static_cast<std::size_t>(i)], "the number of no other descriptor");
    }
  }
  Pipes::Ends const made = pipes_.open();
  fds_[ends[0]] = made.read;
  fds_[ends[1]] = made.write;
  return given(0);
}

/// read(), write() and close() of an end.
Given Caller::on_pipe(const std::string& name) {
  int const end = fd(0);
  bool const reads = name == "read";
  if (name == "close") {
    fds_.erase(number(0));
    return given(pipes_.close(end));
  }
  if ((!reads && name != "write") ||
      (reads ? !Pipes::is_read_end(end) : !Pipes::is_write_end(end))) {
    return given(fails(name == "read" || name == "write" ? EBADF : EINVAL));
  }
  std::int64_t const most = number(2);
  if (most < 0) {
    refuse(argument(2), "a number of octets");
  }
  return given(reads ? read_pipe(end, most) : write_pipe(end, most));
}

std::int64_t Caller::read_pipe(int end, std::int64_t most) {
  std::int64_t const octets = std::min(most, pipes_.held(end));
  if (octets == 0 && most != 0) {
    return pipes_.over(end) ? 0 : fails(EAGAIN);
  }
  pipes_.take(end, octets);
  return octets;
}

std::int64_t Caller::write_pipe(int end, std::int64_t most) {
  if (pipes_.broken(end)) {
    return fails(EPIPE);
  }
  std::int64_t const octets = std::min(most, pipes_.room(end));
  if (octets == 0 && most != 0) {
    return fails(EAGAIN);
  }
  pipes_.put(end, octets);
  return octets;
}

/// As splice(2): one end is a pipe's, the other a socket, and neither has a place of its own.
Given Caller::splice() {
  int const from = fd(0), to = fd(2);
  const auto has_place = [this](const Value& value) {
    bool const none = value.kind == Value::Kind::ellipsis || number(value) == 0;
    return !none;
  };
  bool const out_of = Pipes::is_read_end(from);
  bool const into = Pipes::is_write_end(to);
  if (from < 0 || to < 0) {
    return given(fails(EBADF));
  }
  if (out_of == into) {
    return given(fails(EINVAL));
  }
  if (has_place(argument(1)) || has_place(argument(3))) {
    return given(fails(ESPIPE));
  }
  std::int64_t const most = number(4);
  std::int64_t const flags = number(5);
  if (most < 0) {
    refuse(argument(4), "a number of octets");
  }
  bool const waits = blocking_ && (flags & SPLICE_F_NONBLOCK) == 0;
  Given result = given(out_of ? splice_out(from, to, most, flags) : splice_in(from, to, most));
  result.waits = result.waits && waits;
  return result;
}

/// From a pipe to a socket.
std::int64_t Caller::splice_out(int from, int to, std::int64_t most, std::int64_t flags) {
  std::int64_t const octets = std::min(most, pipes_.held(from));
  if (octets == 0) {
    return most == 0 || pipes_.over(from) ? 0 : fails(EAGAIN);
  }
  text_.assign(static_cast<std::size_t>(octets), {});
  int const more = (flags & SPLICE_F_MORE) != 0 ? MSG_MORE : 0;
  std::int64_t const sent = world_.calls().send(to, text_.data(), text_.size(), more);
  pipes_.take(from, std::max<std::int64_t>(sent, 0));
  return sent;
}

/// From a socket to a pipe.
std::int64_t Caller::splice_in(int from, int to, std::int64_t most) {
  if (pipes_.broken(to)) {
    return fails(EPIPE);
  }
  std::int64_t const octets = std::min(most, pipes_.room(to));
  if (octets == 0) {
    return most == 0 ? 0 : fails(EAGAIN);
  }
  text_.assign(static_cast<std::size_t>(octets), {});
  std::int64_t const got = world_.calls().recv(from, text_.data(), text_.size(), 0);
  pipes_.put(to, std::max<std::int64_t>(got, 0));
  return got;
}

}  // namespace lockstep::conformance::script
