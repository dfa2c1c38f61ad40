// One ppoll(2).
#include "hw/poll/wait.hpp"

#include <poll.h>

#include <array>
#include <ctime>

namespace lockstep::hw {

void wait_for(const WaitFor& what) {
  std::array<pollfd, 4> descriptors{};
  descriptors[0].fd = what.frames;
  descriptors[0].events = static_cast<short>(POLLIN | (what.room ? POLLOUT : 0));
  descriptors[1].fd = what.stop;
  descriptors[1].events = POLLIN;
  descriptors[2].fd = what.doorbell;
  descriptors[2].events = POLLIN;
  descriptors[3].fd = what.watcher;
  descriptors[3].events = POLLIN;
  std::uint64_t const left = what.until.since(what.now).ns;
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(left / 1'000'000'000);
  timeout.tv_nsec = static_cast<decltype(timeout.tv_nsec)>(left % 1'000'000'000);
  // The result does not matter, because the next turn checks everything.
  static_cast<void>(ppoll(descriptors.data(), descriptors.size(),
                          what.until.is_never() ? nullptr : &timeout, nullptr));
}

}  // namespace lockstep::hw
