// Waiting for what another thread does, for tests.
#pragma once

#include <chrono>
#include <thread>

namespace lockstep::tools {

/// Waits until `condition` holds. False if it does not within a minute, so that a test fails in
/// place of running for ever.
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
