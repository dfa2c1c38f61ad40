// Tries a value in a child process, because ns-3 ends the process for one that it does not accept.
#include "tools/verbs/ns3_program/trial.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

/// Suppresses the child's output and core file.
[[noreturn]] void try_it(const std::function<bool()>& act) {
  rlimit const none{0, 0};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
  for (int const signal : {SIGABRT, SIGFPE, SIGSEGV, SIGILL}) {
    static_cast<void>(std::signal(signal, SIG_DFL));
  }
  int const nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (int const stream : {STDOUT_FILENO, STDERR_FILENO}) {
    static_cast<void>(::dup2(nothing, stream));
  }
  bool taken = false;
  try {
    taken = act();
  } catch (...) {
    taken = false;
  }
  ::_exit(taken ? 0 : 1);
}

}  // namespace

bool ns3_takes(const std::function<bool()>& act) {
  pid_t const child = ::fork();
  if (child == 0) {
    try_it(act);
  }
  int status = -1;
  pid_t ended = -1;
  do {
    ended = child < 0 ? -1 : ::waitpid(child, &status, 0);
  } while (child > 0 && ended < 0 && errno == EINTR);
  if (ended != child) {
    throw Failure(ExitCode::environment,
                  std::string("a process to try what ns-3 takes: ") + std::strerror(errno));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace lockstep::tools
