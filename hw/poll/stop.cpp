// The signal handler writes to an eventfd, which is async-signal-safe.
#include "hw/poll/stop.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/units/check.hpp"

namespace lockstep::hw {
namespace {

// Of the single StopSignals that is open. Written only before the handlers are installed.
std::array<int, StopSignals::seats_max> event_descriptors{};
std::uint32_t open_seats = 0;
std::atomic<std::uint32_t> times_asked = 0;
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
struct sigaction before_interrupt;
struct sigaction before_terminate;
struct sigaction before_hangup;

void add_one() {
  std::uint64_t const one = 1;
  times_asked.fetch_add(1);
  for (std::uint32_t i = 0; i < open_seats; ++i) {
    // A failure can be ignored: the counter is full only after 2^64 signals.
    static_cast<void>(!write(event_descriptors[i], &one, sizeof one));
  }
}

void on_signal(int) {
  int const kept = errno;
  add_one();
  errno = kept;
}

}  // namespace

std::uint32_t take_requests(const std::atomic<std::uint32_t>& times, int event,
                            std::uint32_t& taken) {
  if (times.load(std::memory_order_relaxed) == taken) {
    return taken;
  }
  std::uint64_t waiting = 0;
  if (read(event, &waiting, sizeof waiting) > 0) {
    taken += static_cast<std::uint32_t>(waiting);
  }
  // After the read: what was read has been counted before.
  return times.load();
}

Trouble StopSignals::open(Count loops) {
  CHECK(open_seats == 0);
  CHECK(loops.value >= 1);
  CHECK(loops.value <= seats_max);
  seats_.resize(loops.value - 1);
  for (std::uint32_t i = 0; i < loops.value; ++i) {
    int const made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made < 0) {
      int const error = errno;
      while (i != 0) {
        close(event_descriptors[--i]);
      }
      return {TroubleKind::environment,
              std::string("eventfd: ") + std::strerror(error) + ": raise the limit of open files"};
    }
    event_descriptors[i] = made;
  }
  for (std::uint32_t i = 0; i < loops.value; ++i) {
    seat(i).descriptor_ = event_descriptors[i];
  }
  open_seats = loops.value;
  times_asked.store(0);
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_interrupt);
  sigaction(SIGTERM, &action, &before_terminate);
  sigaction(SIGHUP, nullptr, &before_hangup);
  if (before_hangup.sa_handler == SIG_DFL) {  // not ignored, as nohup leaves it, nor handled
    sigaction(SIGHUP, &action, nullptr);
  }
  return {};
}

StopSignals::~StopSignals() {
  if (descriptor() >= 0) {
    sigaction(SIGINT, &before_interrupt, nullptr);
    sigaction(SIGTERM, &before_terminate, nullptr);
    sigaction(SIGHUP, &before_hangup, nullptr);
    std::uint32_t const seats = open_seats;
    open_seats = 0;
    for (std::uint32_t i = 0; i < seats; ++i) {
      close(event_descriptors[i]);
    }
  }
}

std::uint32_t StopSeat::asked() {
  return descriptor_ >= 0 ? take_requests(times_asked, descriptor_, taken_) : 0;
}

void StopSeat::ask() const {
  CHECK(descriptor_ >= 0);
  add_one();
}

}  // namespace lockstep::hw
