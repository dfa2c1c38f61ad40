// Child processes by fork, setns and exec, with three pipes each that are read together.
#include "tools/verbs/testbed/process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

constexpr int no_program = 127;
constexpr int no_way_in = 126;
constexpr int report_number = 3;

[[noreturn]] void fail(const std::string& message) {
  throw Failure(ExitCode::environment, message);
}

hw::Descriptor open_own() {
  hw::Descriptor here(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!here.is_open()) {
    fail(fmt::format("/proc/thread-self/ns/net: {}: mount /proc", std::strerror(errno)));
  }
  return here;
}

/// Runs in the child: calls only what is safe between fork and exec. Never returns.
[[noreturn]] void exec_in(int space, const std::array<int, 3>& ends, char* const* words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);  // keys typed at the terminal signal this program only
  if (::setns(space, CLONE_NEWNET) != 0) {
    _exit(no_way_in);
  }
  int const nothing = ::open("/dev/null", O_RDONLY);
  // Copies the descriptors to high numbers first, so that none is overwritten before it is copied.
  std::array<int, 3> high{};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    high[i] = ::fcntl(ends[i], F_DUPFD_CLOEXEC, 10);
  }
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(high[0], STDOUT_FILENO);
  ::dup2(high[1], STDERR_FILENO);
  ::dup2(high[2], report_number);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(words[0], words);
  _exit(no_program);
}

}  // namespace

Netspace Netspace::own() { return Netspace(open_own()); }

Netspace Netspace::make() {
  hw::Descriptor const before = open_own();
  if (::unshare(CLONE_NEWNET) != 0) {
    fail(fmt::format("cannot create a network namespace: {}: run it as root, or in `unshare -Urn`",
                     std::strerror(errno)));
  }
  Netspace made(open_own());
  if (::setns(before.number(), CLONE_NEWNET) != 0) {
    fail(fmt::format("cannot return to the original namespace: {}: run it as root",
                     std::strerror(errno)));
  }
  return made;
}

std::string Netspace::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), number()); }

Child::Child(const Netspace& where, Words words) : name_(words.front()) {
  std::array<hw::Descriptor, pipes> theirs;
  std::array<int, pipes> numbers{};
  for (std::size_t i = 0; i < pipes; ++i) {
    std::array<int, 2> both{};
    if (::pipe2(both.data(), O_CLOEXEC) != 0) {
      fail(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    }
    ends_[i] = hw::Descriptor(both[0]);
    theirs[i] = hw::Descriptor(both[1]);
    numbers[i] = both[1];
  }
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) {
    fail(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (pid_ == 0) {
    exec_in(where.number(), numbers, pointers.data());
  }
}

Child::~Child() {
  if (!code_) {
    send(SIGKILL);
    wait();
  }
}

void Child::send(int signal) const {
  if (!code_) {
    ::kill(pid_, signal);
  }
}

void Child::hear(std::size_t which) {
  std::array<char, 65'536> some;
  ssize_t const length = ::read(ends_[which].number(), some.data(), some.size());
  if (length > 0) {
    heard_[which].append(some.data(), static_cast<std::size_t>(length));
  } else if (length == 0 || errno != EINTR) {
    ends_[which].close();
    --open_;
  }
}

bool Child::attend(const std::vector<Child*>& children, std::chrono::milliseconds patience) {
  struct Place {
    Child* child;
    std::size_t which;
  };
  std::vector<pollfd> waited;
  std::vector<Place> places;
  for (Child* const child : children) {
    for (std::size_t i = 0; i < pipes; ++i) {
      if (child->ends_[i].is_open()) {
        waited.push_back({child->ends_[i].number(), POLLIN, 0});
        places.push_back({child, i});
      }
    }
  }
  if (waited.empty()) {
    return false;
  }
  // A signal ends the wait early, like the timeout.
  if (::poll(waited.data(), waited.size(), static_cast<int>(patience.count())) > 0) {
    for (std::size_t i = 0; i < waited.size(); ++i) {
      if (waited[i].revents != 0) {
        places[i].child->hear(places[i].which);
      }
    }
  }
  return true;
}

int Child::wait() {
  while (attend({this}, std::chrono::milliseconds(1000))) {
  }
  if (!code_) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return *code_;
}

Afterwards::Afterwards(const std::string& shell_command) {
  std::array<int, 2> both{};
  if (::pipe2(both.data(), O_CLOEXEC) != 0) {
    fail(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  }
  hw::Descriptor const heard(both[0]);
  held_ = hw::Descriptor(both[1]);
  pid_ = ::fork();
  if (pid_ < 0) {
    fail(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (pid_ == 0) {
    ::close(both[1]);
    ::setsid();
    char nothing = 0;
    while (::read(both[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    ::execl("/bin/sh", "sh", "-c", shell_command.c_str(), nullptr);
    _exit(no_program);
  }
}

Afterwards::~Afterwards() {
  held_.close();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Said run(const Netspace& where, const Words& words) {
  Child child(where, words);
  int const code = child.wait();
  if (code == no_program && child.errors().empty()) {
    fail(fmt::format("{} is missing: tools/setup --with capture", words.front()));
  }
  if (code == no_way_in && child.errors().empty()) {
    fail("cannot enter the namespace: run it as root, or in `unshare -Urn`");
  }
  return {code, child.out(), first_line(child.errors())};
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string demand(const Netspace& where, const Words& words) {
  Said said = run(where, words);
  if (said.code != 0) {
    std::string line;
    for (const std::string& word : words) {
      line += (line.empty() ? "" : " ") + word;
    }
    fail(fmt::format("`{}` failed: {}: correct the cause and run again", line, said.errors));
  }
  return std::move(said.out);
}

}  // namespace lockstep::tools
