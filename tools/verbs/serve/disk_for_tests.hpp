// A disk that is full for a while, and waiting for another thread, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace lockstep::tools {

/// While it lives no file can grow, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    before_signal_ = signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit const none{0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    signal(SIGXFSZ, before_signal_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*before_signal_)(int) = nullptr;
};

/// Waits for what another thread does; false if that does not happen within a minute, so that the
/// test ends.
template <class Condition>
bool happens(Condition&& condition) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace lockstep::tools
