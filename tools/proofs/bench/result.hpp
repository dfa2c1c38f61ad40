// The measured values of one run of a workload.
#pragma once

#include <time.h>

#include <cstdint>

namespace lockstep::tools::benchmark {

struct Result {
  std::uint64_t units = 0;        // data segments, transactions, or idle turns
  std::uint64_t bytes = 0;        // payload carried
  std::uint64_t frames = 0;       // in both directions
  std::uint64_t nanoseconds = 0;  // of the workload, without set-up
  std::uint64_t retransmissions = 0;
  std::uint64_t drops = 0;  // frames dropped, on both hosts
};

// CPU time of a workload; on an otherwise idle machine it equals wall clock time. Real time is
// measured around the stacks, never inside them.
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
