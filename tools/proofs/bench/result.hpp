// What one run of a workload measured.
#pragma once

#include <time.h>

#include <cstdint>

namespace lockstep::tools::benchmark {

struct Result {
  std::uint64_t units = 0;        // data segments, transactions, or idle turns
  std::uint64_t bytes = 0;        // payload carried
  std::uint64_t frames = 0;       // both directions
  std::uint64_t nanoseconds = 0;  // of the workload, set-up left out
  std::uint64_t retransmissions = 0;
  std::uint64_t drops = 0;  // frames that died, both hosts
};

// The CPU time of a workload, which is the wall clock's on a machine with nothing else to do. Real
// time is measured around the stacks, never inside them.
class Stopwatch {
 public:
  std::uint64_t nanoseconds() const { return read() - start_; }

 private:
  static std::uint64_t read() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
  }

  std::uint64_t start_ = read();
};

}  // namespace lockstep::tools::benchmark
