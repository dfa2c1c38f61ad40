// Records time series of connections and queues during a run, as tables in CSV.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/kernel.hpp"
#include "sim/kernel/observer.hpp"
#include "sim/kernel/pcapng.hpp"
#include "tools/lib/sim_report/rtt_samples.hpp"

namespace lockstep::tools {

/// The tables, in the order of `table_files`; sim/README.md describes their columns.
enum class Table : std::uint8_t { senders, rtt_samples, readers, queues };
inline constexpr std::array<std::string_view, 4> table_files = {"senders.csv", "rtt_samples.csv",
                                                                "readers.csv", "queues.csv"};
using Tables = std::array<sim::ByteSink*, table_files.size()>;

/// A row is written when a value differs from that of the row before. Add it to the kernel before
/// the first step, and call stepped() after each one.
class Recorder final : public sim::Observer {
 public:
  /// Writes the names of the columns. The tables must outlive the recorder.
  Recorder(const sim::Kernel& kernel, const Tables& into);

  void sent(const sim::Kernel& kernel, const sim::FrameNote& note) override;
  void delivered(const sim::Kernel& kernel, const sim::FrameNote& note) override;
  void turned(const sim::Kernel& kernel, sim::HostIndex host, Outcome outcome) override;
  void station_ran(const sim::Kernel& kernel, std::uint32_t station) override;
  /// Records queues, which change in steps without a host.
  void stepped(const sim::Kernel& kernel);

  struct Sender {
    std::uint32_t cwnd = 0;
    std::uint32_t ssthresh = 0;
    std::uint32_t flight = 0;
    std::uint64_t srtt = 0;
    std::uint64_t rto = 0;
    std::uint64_t pacing = 0;
    std::uint64_t retransmissions = 0;
    bool operator==(const Sender&) const = default;
  };
  /// One end of a connection.
  struct End {
    sim::FlowId flow{};
    sim::Side side{};
    bool sends = false;
    Sender sender{};
    std::uint64_t read = 0;
    RttSamples rtt{};
  };
  struct Queue {
    std::uint32_t lane = 0;
    std::uint32_t packets = 0;
    std::uint64_t offered = 0;
    std::uint64_t dropped = 0;
    std::uint64_t marked = 0;
  };
  struct State {
    std::uint32_t flows = 0;                       // of the ledger, seen so far
    std::vector<End> ends;                         // by flow and side
    std::vector<std::uint32_t> unaccepted;         // places in `ends`
    std::vector<std::vector<std::uint32_t>> open;  // by node: hosts, then stations
    std::map<FourTuple, std::uint32_t> senders;    // the newest end between two endpoints
    std::vector<Queue> queues;
  };

  /// All that the recorder knows, for a snapshot of the run.
  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  void see_flows(const sim::Kernel& kernel);
  void see_acceptors(const sim::Kernel& kernel);
  std::size_t node_of(const sim::FlowEnd& end) const;
  void run(const sim::Kernel& kernel, std::size_t node);
  void add_sender(Instant at, End& end, const sim::FlowEnd& now, const ConnectionInfo& info);
  void add_read(Instant at, End& end, const sim::FlowEnd& now);
  void put(Table table, std::string_view row);

  Tables into_;
  std::size_t hosts_;
  State state_;
};

/// A row for each end of each connection, once the run is over.
std::string connections_csv(const sim::Kernel& kernel);

}  // namespace lockstep::tools
