// The signal handler writes into an eventfd, which is all that a handler may do.
#include "hw/poll/stop.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/units/check.hpp"

namespace lockstep::hw {
namespace {

// Of the one StopSignals that is open. Written before the handlers are in place only.
int event_descriptor = -1;
std::atomic<std::uint32_t> times_asked = 0;
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
struct sigaction before_interrupt;
struct sigaction before_terminate;

void add_one() {
  std::uint64_t const one = 1;
  times_asked.fetch_add(1);
  // Nothing can be done about a failure: the counter is full only after 2^64 signals.
  static_cast<void>(!write(event_descriptor, &one, sizeof one));
}

void on_signal(int) {
  int const kept = errno;
  add_one();
  errno = kept;
}

}  // namespace

Trouble StopSignals::open() {
  CHECK(event_descriptor == -1);
  event_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_descriptor < 0) {
    return {TroubleKind::environment,
            std::string("eventfd: ") + std::strerror(errno) + ": raise the limit of open files"};
  }
  open_ = true;
  times_asked.store(0);
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_interrupt);
  sigaction(SIGTERM, &action, &before_terminate);
  return {};
}

StopSignals::~StopSignals() {
  if (open_) {
    sigaction(SIGINT, &before_interrupt, nullptr);
    sigaction(SIGTERM, &before_terminate, nullptr);
    close(event_descriptor);
    event_descriptor = -1;
  }
}

int StopSignals::descriptor() const { return open_ ? event_descriptor : -1; }

std::uint32_t StopSignals::asked() {
  std::uint32_t const asked = open_ ? times_asked.load(std::memory_order_relaxed) : 0;
  if (asked != seen_) {
    seen_ = asked;
    std::uint64_t waiting = 0;
    // Empty already if the handler is between its two steps: then the next sleep is a short one.
    static_cast<void>(!read(event_descriptor, &waiting, sizeof waiting));
  }
  return asked;
}

void StopSignals::ask() const {
  CHECK(open_);
  add_one();
}

}  // namespace lockstep::hw
