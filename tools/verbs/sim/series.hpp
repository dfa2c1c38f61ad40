// Time series of each sender's congestion control, as rows of a CSV file.
#pragma once

#include <cstdint>
#include <map>

#include "sim/kernel/kernel.hpp"
#include "sim/kernel/observer.hpp"
#include "tools/base/output/atomic_file.hpp"

namespace lockstep::tools {

/// A row after each turn of a host, or action of a device, that changed a connection that it
/// opened; of a device with what its packets and variables show. Times in nanoseconds, windows in
/// octets, rates in octets per second, the queue of the first link's forward direction in frames.
/// The first line names the columns.
class Series final : public sim::Observer {
 public:
  explicit Series(AtomicFile& into);
  void turned(const sim::Kernel& kernel, sim::HostIndex host, Outcome outcome) override;
  void station_ran(const sim::Kernel& kernel, std::uint32_t station) override;

 private:
  struct Last {
    std::uint32_t cwnd = 0;
    std::uint32_t ssthresh = 0;
    Sequence una;
    std::uint64_t acked = 0;  // without the wrap-around of sequence numbers
    std::uint64_t retransmissions = 0;
    std::uint32_t queue = 0;
  };

  void add(const sim::Kernel& kernel, const sim::Flow& flow, const ConnectionInfo& info);

  AtomicFile& into_;
  std::map<std::uint32_t, Last> last_;  // by flow
};

}  // namespace lockstep::tools
