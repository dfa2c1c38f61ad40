// The reorder matrix: its cells, the world of each, and the throughput of one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tcp/config.hpp"
#include "sim/kernel/world.hpp"
#include "tools/lib/sim_nic/port_kinds.hpp"

namespace lockstep::tools {

/// How long a delayed segment is held: not at all, for the time of one or ten segments at the
/// link's rate, or for a quarter of the RTT, in which a quarter of a window passes.
enum class Reordering : std::uint8_t { none, one, ten, quarter };
inline constexpr std::uint32_t reordering_count = 4;

/// Loss detection by time (RACK) or by counting duplicates, with everything else equal.
enum class Rack : std::uint8_t { off, on };

/// One connection over one path.
struct Cell {
  tcp::Congestion congestion = tcp::Congestion::reno;
  std::uint64_t bits_per_second = 0;
  Duration rtt;
  Probability loss;
  Reordering reordering = Reordering::none;
  bool operator==(const Cell& other) const {
    return congestion == other.congestion && bits_per_second == other.bits_per_second &&
           rtt == other.rtt && loss.per_billion == other.loss.per_billion &&
           reordering == other.reordering;
  }
};

/// Seeds of each cell: 1 to 9, the same with RACK and without.
inline constexpr std::uint32_t cell_seeds = 9;

/// All cells, in the order of the table.
const std::vector<Cell>& matrix_cells();

/// Whether a cell belongs to the sixth that tools/test --all runs: a fixed choice that contains
/// each value of each dimension.
bool of_the_sixth(const Cell& cell);

/// Full-sized segments that the path holds per RTT.
std::uint64_t window_segments(const Cell& cell);

/// How long a delayed segment is held; zero: none is delayed.
Duration hold_of(const Cell& cell);

/// Whether RFC 8985's minimum reordering window, a quarter of the minimum RTT, covers the hold.
bool within_window(const Cell& cell);

/// The throughput required with reordering inside that window, in percent of the throughput without
/// reordering. Less than 95 only where the buffer is smaller than what the path holds: then the
/// whole window waits for the delayed segment, with RACK or without, and RTT / (RTT + hold) of the
/// throughput is left.
std::uint64_t expected_percent(const Cell& cell);

/// "reno 10M 10ms 0.1% ten": the start of the cell's line in the table.
std::string name_of(const Cell& cell);

/// hosts[0] sends to hosts[1] without end. Loss and reordering apply to what hosts[0] sends.
sim::World cell_world(const Cell& cell, Rack rack);

/// Octets read before the measurement begins, so that slow start is over, and during it.
struct Span {
  std::uint64_t warm = 0;
  std::uint64_t measured = 0;
};
Span span_of(const Cell& cell);

/// Kilobits per second that hosts[1] read during the measurement; both ends use the given kind of
/// port.
std::uint32_t run_cell(const Cell& cell, Rack rack, std::uint64_t seed, const PortKind& port = {});

}  // namespace lockstep::tools
