// Blocking, with a time limit on each system call.
#include "tools/lib/control/client.hpp"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "hw/poll/descriptor.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/control/lines.hpp"
#include "tools/lib/control/socket.hpp"

namespace lockstep::control {
namespace {

/// A connected socket; not open, with errno set, if nobody listens.
hw::Descriptor connected(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path) {
    errno = ENAMETOOLONG;
    return {};
  }
  std::copy(path.begin(), path.end(), name.sun_path);
  hw::Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  timeval const patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(made.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(made.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  bool const done =
      connect(made.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
  return done ? std::move(made) : hw::Descriptor{};
}

[[noreturn]] void no_list(const std::string& path, const std::string& why) {
  throw tools::Failure(
      tools::ExitCode::environment,
      fmt::format("{}: {}: check that it is the control socket of a running `lockstep serve` or "
                  "`lockstep load`, and that you may open it",
                  path, why));
}

std::string all_of(const std::string& path) {
  hw::Descriptor const made = connected(path);
  if (!made.is_open()) {
    no_list(path, std::strerror(errno));
  }
  constexpr std::string_view request = list_request;
  if (send(made.number(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    no_list(path, std::strerror(errno));
  }
  std::string text;
  std::array<char, 65'536> buffer{};
  for (;;) {
    ssize_t const got = recv(made.number(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      no_list(path, errno == EAGAIN ? "no answer in 10 s" : std::strerror(errno));
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::vector<std::string> running_sockets() {
  std::vector<std::string> out;
  std::error_code error;
  std::string const folder = default_folder();
  for (auto const& each : std::filesystem::directory_iterator(folder, error)) {
    std::string const path = each.path().string();
    if (!path.ends_with(".sock")) {
      continue;
    }
    if (connected(path).is_open()) {
      out.push_back(path);
    } else if (errno == ECONNREFUSED) {
      unlink(path.c_str());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Answer list_of(const std::string& path) {
  std::string const text = all_of(path);
  Answer out;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find('\n', begin), text.size());
    out.lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  bool const whole =
      out.lines.size() >= 2 && out.lines.front().starts_with("{\"lockstep\"") &&
      out.lines.back() ==
          end_line(out.lines.size() - 2).substr(0, end_line(out.lines.size() - 2).size() - 1);
  if (!whole) {
    no_list(path, "the list is cut off");
  }
  out.head = out.lines.front();
  out.lines.erase(out.lines.begin());
  out.lines.pop_back();
  return out;
}

}  // namespace lockstep::control
