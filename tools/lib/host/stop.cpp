// The handler of the signals asks the one host that has taken them.
#include "tools/lib/host/stop.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

namespace lockstep::tools {
namespace {

// The host that has the signals. Written only while the handlers are not installed.
std::atomic<HostStop*> owner = nullptr;
static_assert(std::atomic<HostStop*>::is_always_lock_free);
struct sigaction interrupt_before;
struct sigaction terminate_before;

void ask_owner(int) {
  int const kept = errno;
  if (HostStop* const asked = owner.load()) {
    asked->ask();
  }
  errno = kept;
}

}  // namespace

hw::Trouble HostStop::open() {
  event_ = hw::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return event_.is_open() ? hw::Trouble{}
                          : hw::environment(std::string("eventfd: ") + std::strerror(errno) +
                                            ": raise the limit of open files");
}

hw::Trouble HostStop::take_signals() {
  HostStop* nobody = nullptr;
  if (owner.load() == this) {
    return {};
  }
  if (!owner.compare_exchange_strong(nobody, this)) {
    return hw::bad_input(
        "another host of this process has SIGINT and SIGTERM: install a handler that stops both");
  }
  struct sigaction action{};
  action.sa_handler = ask_owner;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &interrupt_before);
  sigaction(SIGTERM, &action, &terminate_before);
  return {};
}

HostStop::~HostStop() {
  if (owner.load() == this) {
    sigaction(SIGINT, &interrupt_before, nullptr);
    sigaction(SIGTERM, &terminate_before, nullptr);
    owner.store(nullptr);
  }
}

void HostStop::ask() {
  std::uint64_t const one = 1;
  times_.fetch_add(1);
  // A failure can be ignored: the counter is full only after 2^64 requests.
  static_cast<void>(!write(event_.number(), &one, sizeof one));
}

std::uint32_t HostStop::asked() { return hw::take_requests(times_, event_.number(), taken_); }

}  // namespace lockstep::tools
