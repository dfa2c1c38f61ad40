// A device in a process of its own, and the requests to it.
#include "conformance/devices/peer.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <sstream>
#include <utility>

#include "conformance/devices/load.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

namespace fs = std::filesystem;
using tools::ExitCode;
using tools::Failure;

constexpr std::size_t answer_least = 28;
constexpr std::size_t answer_most = std::size_t{1} << 28;
constexpr std::size_t line_most = 200;
// Virtual time passes at least this much faster than real time; a year is the most that counts.
constexpr std::uint64_t slowest = 20'000;
constexpr std::uint64_t longest = 366ULL * 86'400 * 1'000'000'000;

void put(std::string& out, std::uint64_t value, unsigned octets) {
  for (unsigned i = 0; i < octets; ++i) {
    out += static_cast<char>(value >> (8 * i));
  }
}

std::uint64_t number_at(std::string_view from, std::size_t at, unsigned octets) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < octets; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(from[at + i])} << (8 * i);
  }
  return value;
}

std::set<std::string, std::less<>> words_of(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string, std::less<>> out;
  for (std::string word; in >> word;) {
    out.insert(word);
  }
  return out;
}

/// In the child: `socket` becomes standard input and output, `printed` the standard error.
void take_descriptors(int socket, int printed) {
  dup2(printed, STDERR_FILENO);
  dup2(socket, STDIN_FILENO);
  dup2(socket, STDOUT_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
}

/// In the child: serves a library until its input ends. What the library prints goes to the
/// standard error.
[[noreturn]] void serve(const lockstep_device_calls& calls) {
  int const in = dup(STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (const char* const wrong = lockstep_device_serve(&calls, in, in)) {
    dprintf(STDERR_FILENO, "%s\n", wrong);
    _exit(1);
  }
  _exit(0);
}

}  // namespace

std::string_view name_of(lockstep_device_call call) {
  static constexpr std::array<std::string_view, 19> names{
      "about",   "create", "advance", "packet", "listen", "unlisten", "accept",
      "connect", "send",   "receive", "finish", "close",  "abort",    "urgent",
      "set",     "get",    "state",   "events", "branch"};
  return names[static_cast<std::size_t>(call) - 1];
}

DevicePeer::DevicePeer(const fs::path& path, std::chrono::milliseconds patience)
    : name_(path.parent_path().empty() ? path.string() : device_name(path)), patience_(patience) {
  start(path);
  try {
    learn();
  } catch (...) {
    stop();
    throw;
  }
}

DevicePeer::~DevicePeer() { stop(); }

void DevicePeer::stop() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(std::exchange(process_, -1), nullptr, 0);
  }
  for (int* const each : {&socket_, &printed_}) {
    if (*each >= 0) {
      close(std::exchange(*each, -1));
    }
  }
}

void DevicePeer::start(const fs::path& path) {
  const lockstep_device_calls* const calls = is_program(path) ? nullptr : &load_device(path);
  if (calls == nullptr && access(path.c_str(), X_OK) != 0) {
    throw Failure(
        ExitCode::bad_input,
        fmt::format("{}: it is neither a shared library (.so) nor may it be run: chmod +x",
                    path.string()));
  }
  std::array<int, 2> ends{};
  printed_ = memfd_create("device", MFD_CLOEXEC);
  if (printed_ < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Failure(ExitCode::environment,
                  fmt::format("device {}: no descriptor is left for it ({}): "
                              "raise ulimit -n",
                              name_, std::strerror(errno)));
  }
  socket_ = ends[0];
  fcntl(socket_, F_SETFL, O_NONBLOCK);
  process_ = fork();
  if (process_ == 0) {
    take_descriptors(ends[1], printed_);
    if (calls != nullptr) {
      serve(*calls);
    }
    execl(path.c_str(), path.c_str(), static_cast<char*>(nullptr));
    dprintf(STDERR_FILENO, "it cannot be run: %s\n", std::strerror(errno));
    _exit(127);
  }
  close(ends[1]);
  if (process_ < 0) {
    throw Failure(ExitCode::environment, fmt::format("device {}: no process can be started ({})",
                                                     name_, std::strerror(errno)));
  }
}

void DevicePeer::learn() {
  DeviceAnswer const answer = ask(LOCKSTEP_CALL_ABOUT);
  std::istringstream lines(answer.octets);
  std::string version;
  bool grain = false;
  for (std::string line; std::getline(lines, line);) {
    std::size_t const space = std::min(line.find(' '), line.size());
    std::string const word = line.substr(0, space);
    std::string const rest = line.substr(std::min(space + 1, line.size()));
    const auto number = [&rest](std::uint64_t& out) {
      const char* const end = rest.data() + rest.size();
      return std::from_chars(rest.data(), end, out).ptr == end && !rest.empty();
    };
    if (word == "version") {
      version = rest;
    } else if (word == "name") {
      about_.name = rest;
    } else if (word == "stack") {
      about_.stack = rest;
    } else if (word == "abilities") {
      about_.abilities = words_of(rest);
    } else if (word == "calls") {
      about_.calls = words_of(rest);
    } else if (word == "timer_grain") {
      grain = number(about_.timer_grain);
    } else if (word == "timer_late") {
      number(about_.timer_late);
    }
  }
  if (version != fmt::format("{}", LOCKSTEP_DEVICE_VERSION) || !grain) {
    fault(LOCKSTEP_CALL_ABOUT,
          fmt::format("it does not say version {} and a timer_grain", LOCKSTEP_DEVICE_VERSION));
  }
}

DeviceAnswer DevicePeer::ask(lockstep_device_call call, std::uint64_t first, std::uint64_t second,
                             std::string_view octets) {
  using std::chrono::duration_cast;
  allowed_ = patience_;
  if (call == LOCKSTEP_CALL_ADVANCE && first > now_) {
    // A kernel that idles for days takes a while.
    std::chrono::nanoseconds const more(std::min<std::uint64_t>(first - now_, longest) / slowest);
    allowed_ += duration_cast<std::chrono::milliseconds>(more);
  }
  until_ = std::chrono::steady_clock::now() + allowed_;
  std::string request;
  put(request, 20 + octets.size(), 4);
  put(request, static_cast<std::uint64_t>(call), 4);
  put(request, first, 8);
  put(request, second, 8);
  request += octets;
  write(call, request);
  std::size_t const length = number_at(read(call, 4), 0, 4);
  if (length < answer_least || length > answer_most) {
    fault(call, fmt::format("its answer has {} octets, expected {} to {}: does it print to its "
                            "standard output?",
                            length, answer_least, answer_most));
  }
  std::string const body = read(call, length);
  DeviceAnswer out;
  out.result = static_cast<std::int64_t>(number_at(body, 0, 8));
  out.now = number_at(body, 8, 8);
  out.deadline = number_at(body, 16, 8);
  std::size_t const count = number_at(body, 24, 4);
  std::size_t at = answer_least;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t const size = at + 4 <= length ? number_at(body, at, 4) : length;
    at += 4;
    if (size > LOCKSTEP_DEVICE_PACKET_MAX || at + size > length) {
      fault(call, fmt::format("packet {} of the {} in its answer has {} octets, expected {} at "
                              "most, and all of it in the answer",
                              i + 1, count, size, LOCKSTEP_DEVICE_PACKET_MAX));
    }
    auto const bytes = std::as_bytes(std::span(body)).subspan(at, size);
    out.packets.emplace_back(bytes.begin(), bytes.end());
    at += size;
  }
  out.octets = body.substr(at);
  if (call > LOCKSTEP_CALL_CREATE && out.now < now_) {
    fault(call, fmt::format("its time went back by {} ns", now_ - out.now));
  }
  now_ = std::max(now_, out.now);
  return out;
}

void DevicePeer::wait_for(lockstep_device_call call, short events) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  pollfd entry{socket_, events, 0};
  for (;;) {
    auto const left = duration_cast<milliseconds>(until_ - std::chrono::steady_clock::now());
    int const ready = left.count() <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(left.count()));
    if (ready > 0) {
      return;
    }
    if (ready == 0) {
      fault(call, fmt::format("it has not answered in {:g} s",
                              static_cast<double>(allowed_.count()) / 1000));
    }
  }
}

void DevicePeer::write(lockstep_device_call call, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t const done = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EAGAIN || errno == EINTR) {
      wait_for(call, POLLOUT);
    } else {
      ended(call);
    }
  }
}

std::string DevicePeer::read(lockstep_device_call call, std::size_t length) {
  std::string out(length, '\0');
  std::size_t got = 0;
  while (got < length) {
    ssize_t const part = recv(socket_, out.data() + got, length - got, 0);
    if (part > 0) {
      got += static_cast<std::size_t>(part);
    } else if (part < 0 && (errno == EAGAIN || errno == EINTR)) {
      wait_for(call, POLLIN);
    } else {
      ended(call);
    }
  }
  return out;
}

void DevicePeer::fault(lockstep_device_call call, const std::string& what) const {
  throw DeviceFault(fmt::format("device {}: {}: {}", name_, name_of(call), what));
}

/// The process has closed its end: how did it end?
void DevicePeer::ended(lockstep_device_call call) {
  int status = 0;
  while (waitpid(process_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until_) {
      fault(call, "it has closed its output, and runs on");
    }
    ::poll(nullptr, 0, 1);
  }
  process_ = -1;
  std::string const line = last_line();
  std::string const more = line.empty() ? "" : ": " + line;
  if (WIFSIGNALED(status)) {
    fault(call, fmt::format("it has ended by SIG{}{}", sigabbrev_np(WTERMSIG(status)), more));
  }
  fault(call, fmt::format("it has ended with exit code {}{}", WEXITSTATUS(status), more));
}

std::string DevicePeer::last_line() const {
  std::array<char, 4'096> text{};
  off_t const size = lseek(printed_, 0, SEEK_END);
  off_t const from = std::max<off_t>(0, size - std::ssize(text));
  ssize_t const got = pread(printed_, text.data(), text.size(), from);
  std::string_view all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  while (all.ends_with('\n')) {
    all.remove_suffix(1);
  }
  std::string_view const last = all.substr(all.rfind('\n') + 1);
  return std::string(last.substr(0, line_most));
}

}  // namespace lockstep::conformance
