// One loop over poll(2). Nothing in it waits for a client or a shard.
#include "tools/lib/control/socket.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/base/process/failure.hpp"

namespace lockstep::control {
namespace {

using tools::ExitCode;
using tools::Failure;

constexpr int backlog = 64;  // connections that are not accepted yet

[[noreturn]] void fail(const std::string& path, const std::string& what, const char* mend) {
  throw Failure(ExitCode::environment, fmt::format("--control {}: {}: {}", path, what, mend));
}

sockaddr_un name_of_path(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--control {}: a socket's path has at most {} octets: shorten it",
                              path, sizeof name.sun_path - 1));
  }
  std::copy(path.begin(), path.end(), name.sun_path);
  return name;
}

const sockaddr* as_address(const sockaddr_un& name) {
  return reinterpret_cast<const sockaddr*>(&name);
}

hw::Descriptor new_socket(const std::string& path) {
  hw::Descriptor out(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.is_open()) {
    fail(path, std::strerror(errno), "raise the limit of open files");
  }
  return out;
}

/// Removes a socket that a program left when it was killed.
void remove_left_over(const std::string& path, const sockaddr_un& name) {
  struct stat there{};
  if (lstat(path.c_str(), &there) != 0) {
    return;
  }
  if (!S_ISSOCK(there.st_mode)) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--control {}: it exists and is no socket: name another", path));
  }
  hw::Descriptor const trial = new_socket(path);
  if (connect(trial.number(), as_address(name), sizeof name) == 0 || errno == EAGAIN) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--control {}: a running program uses it: name another", path));
  }
  if (errno != ECONNREFUSED) {
    // It may be in use, by another user or for something else.
    throw Failure(ExitCode::bad_input,
                  fmt::format("--control {}: it exists, and connect says {}: name another", path,
                              std::strerror(errno)));
  }
  unlink(path.c_str());
}

}  // namespace

std::string default_folder() {
  if (geteuid() == 0) {
    return "/run/lockstep";
  }
  const char* const mine = std::getenv("XDG_RUNTIME_DIR");
  return mine == nullptr || *mine == '\0' ? "" : std::string(mine) + "/lockstep";
}

Socket::Socket(std::string path, Identity who, Listing& listing)
    : path_(std::move(path)), who_(std::move(who)), listing_(listing) {
  sockaddr_un const name = name_of_path(path_);
  remove_left_over(path_, name);
  listener_ = new_socket(path_);
  mode_t const before = umask(0177);
  bool const bound = bind(listener_.number(), as_address(name), sizeof name) == 0;
  umask(before);
  if (!bound) {
    fail(path_, std::strerror(errno), "name a path in a folder that you may write to");
  }
  stop_ = hw::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_.is_open() || listen(listener_.number(), backlog) != 0) {
    unlink(path_.c_str());
    fail(path_, std::strerror(errno), "raise the limit of open files");
  }
}

Socket::~Socket() {
  if (thread_.joinable()) {
    std::uint64_t const one = 1;
    static_cast<void>(!write(stop_.number(), &one, sizeof one));
    thread_.join();
  }
  unlink(path_.c_str());
}

void Socket::start() {
  thread_ = std::thread([this] { run(); });
}

void Socket::run() {
  while (!over_) {
    wait();
    take_answer();
    ask_next();
    std::erase_if(clients_, [this](const std::unique_ptr<Client>& each) {
      bool const over = each->gone || (each->phase == Phase::last && each->out.empty());
      if (over && asked_for_ == each.get()) {
        asked_for_ = nullptr;
      }
      return over;
    });
  }
}

void Socket::wait() {
  std::vector<pollfd> watched{
      {stop_.number(), POLLIN, 0}, {listing_.news(), POLLIN, 0}, {listener_.number(), POLLIN, 0}};
  std::size_t const before = watched.size();
  Clock::time_point const now = Clock::now();
  Clock::time_point until = now + std::chrono::hours(1);
  if (now < may_accept_) {
    watched[2].fd = -1;
    until = may_accept_;
  }
  for (auto const& each : clients_) {
    short const events = !each->out.empty()              ? POLLOUT
                         : each->phase == Phase::request ? POLLIN
                                                         : short{0};
    watched.push_back({each->socket.number(), events, 0});
    until = std::min(until, each->deadline);
    until = wants_portion(*each) && !asked_ ? std::min(until, may_ask_) : until;
  }
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
  poll(watched.data(), watched.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
  over_ = watched[0].revents != 0;
  if (watched[1].revents != 0) {
    listing_.take_news();
  }
  for (std::size_t i = before; i < watched.size(); ++i) {
    Client& client = *clients_[i - before];
    if ((watched[i].revents & POLLIN) != 0) {
      hear(client);
    }
    if ((watched[i].revents & POLLOUT) != 0) {
      send_to(client);
    }
    bool const broken = (watched[i].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    client.gone = client.gone || (broken && (watched[i].revents & POLLIN) == 0) ||
                  Clock::now() >= client.deadline;
  }
  if (watched[2].revents != 0) {
    accept_all();
  }
}

void Socket::accept_all() {
  for (std::size_t i = 0; i < clients_max; ++i) {
    hw::Descriptor made(
        accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!made.is_open()) {
      if (errno != EAGAIN) {
        // Mostly for want of descriptors: the client still waits, and the listener stays readable.
        may_accept_ = Clock::now() + accept_pause;
        refused_.fetch_add(1);
      }
      return;
    }
    if (clients_.size() == clients_max) {
      // One that has asked for nothing yet gives way, else the one that waits longest.
      auto idle = std::find_if(clients_.begin(), clients_.end(),
                               [](auto const& each) { return each->phase == Phase::request; });
      idle = idle == clients_.end() ? clients_.begin() : idle;
      asked_for_ = asked_for_ == idle->get() ? nullptr : asked_for_;
      clients_.erase(idle);
    }
    auto client = std::make_unique<Client>();
    client->socket = std::move(made);
    client->deadline = Clock::now() + patience;
    clients_.push_back(std::move(client));
  }
}

void Socket::hear(Client& client) {
  std::array<char, request_max> buffer{};
  ssize_t const got = recv(client.socket.number(), buffer.data(), buffer.size(), 0);
  if (got <= 0) {
    client.gone = got == 0 || (errno != EAGAIN && errno != EINTR);
    return;
  }
  client.heard.append(buffer.data(), static_cast<std::size_t>(got));
  if (client.heard == list_request) {
    client.phase = Phase::list;
    client.out = head_line(who_);
    client.deadline = Clock::now() + patience;
  } else if (client.heard.size() > request_max || client.heard.find('\n') != std::string::npos) {
    client.phase = Phase::last;
    client.out = error_line("expected the line: list");
  }
}

void Socket::send_to(Client& client) {
  ssize_t const sent =
      send(client.socket.number(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    client.gone = errno != EAGAIN && errno != EINTR;
    return;
  }
  client.out.erase(0, static_cast<std::size_t>(sent));
  client.deadline = Clock::now() + patience;
}

bool Socket::wants_portion(const Client& client) const {
  return client.phase == Phase::list && client.out.empty() && !client.gone;
}

void Socket::take_answer() {
  const Portion* const portion = asked_ ? listing_.answer(asked_shard_) : nullptr;
  if (portion == nullptr) {
    return;
  }
  asked_ = false;
  if (asked_for_ == nullptr) {
    return;  // it has left
  }
  Client& client = *asked_for_;
  asked_for_ = nullptr;
  for (std::uint32_t i = 0; i < portion->count; ++i) {
    client.out += connection_line(portion->records[i], asked_shard_, portion->now);
  }
  client.connections += portion->count;
  client.next = portion->last ? 0 : portion->next;
  client.shard.value += portion->last ? 1 : 0;
  client.deadline = Clock::now() + patience;
  if (client.shard.value == who_.shards.value) {
    client.phase = Phase::last;
    client.out += end_line(client.connections);
  }
}

void Socket::ask_next() {
  if (asked_ || Clock::now() < may_ask_) {
    return;
  }
  auto const found = std::find_if(clients_.begin(), clients_.end(),
                                  [this](auto const& each) { return wants_portion(*each); });
  if (found == clients_.end()) {
    return;
  }
  asked_for_ = found->get();
  asked_shard_ = asked_for_->shard;
  asked_ = true;
  may_ask_ = Clock::now() + pace;
  listing_.ask(asked_shard_, asked_for_->next);
  std::rotate(found, found + 1, clients_.end());
}

}  // namespace lockstep::control
