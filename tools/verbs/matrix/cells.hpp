// The reorder matrix: its cells, the world of each, and the throughput of one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tcp/config.hpp"
#include "sim/kernel/world.hpp"
#include "tools/lib/sim_nic/port_kinds.hpp"

namespace lockstep::tools {

/// How far a segment that is held back falls behind: not at all, so many segments at the link's
/// rate, or a quarter of a round trip, in which a quarter of a window passes.
enum class Reordering : std::uint8_t { none, one, ten, quarter };
inline constexpr std::uint32_t reordering_count = 4;

/// Losses by time or by counting, all else alike.
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

/// Seeds of a cell: 1 to 9, the same with RACK and without.
inline constexpr std::uint32_t cell_seeds = 9;

/// All, in the order of the table.
const std::vector<Cell>& matrix_cells();

/// Whether a cell is of the sixth that every test run looks at: a fixed choice, in which each value
/// of each dimension is found.
bool of_the_sixth(const Cell& cell);

/// Full-sized segments that the path holds in a round trip.
std::uint64_t window_segments(const Cell& cell);

/// How long a segment that is held back is late; zero: none is held back.
Duration hold_of(const Cell& cell);

/// Whether RFC 8985's least window, a quarter of the least round trip, spans the hold.
bool within_window(const Cell& cell);

/// What reordering within that window must leave, in percent of what there is without. Less than 95
/// only where the buffer is smaller than what the path holds: the whole window then waits for a
/// segment that is held back, with RACK or without, for RTT / (RTT + hold) of the throughput.
std::uint64_t expected_percent(const Cell& cell);

/// "reno 10M 10ms 0.1% ten": how the table's line begins.
std::string name_of(const Cell& cell);

/// hosts[0] sends to hosts[1], without end. Loss and reordering befall what hosts[0] sends.
sim::World cell_world(const Cell& cell, Rack rack);

/// What is read before the measurement begins, so that slow start is over, and during it.
struct Span {
  std::uint64_t warm = 0;
  std::uint64_t measured = 0;
};
Span span_of(const Cell& cell);

/// Kilobits a second that hosts[1] read of what is measured; both ends stand on such a port.
std::uint32_t run_cell(const Cell& cell, Rack rack, std::uint64_t seed, const PortKind& port = {});

}  // namespace lockstep::tools
