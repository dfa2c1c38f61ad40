// The cells of the reorder matrix, and one run of a cell.
#include "tools/verbs/matrix/cells.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/units/check.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint64_t frame_bits = 1'514 * 8;
constexpr std::uint64_t segment_text = 1'448;  // payload of a full-sized segment with timestamps
constexpr std::uint64_t window_least = 65'536;
constexpr std::uint64_t window_most = 2'097'152;
// The probability that a segment is delayed.
constexpr Probability held_back{10'000'000};

constexpr std::array<std::uint64_t, 2> rates{10'000'000, 1'000'000'000};
constexpr std::array<Duration, 4> rtts{Duration::microseconds(200), Duration::milliseconds(10),
                                       Duration::milliseconds(100), Duration::milliseconds(300)};
constexpr std::array<Probability, 5> losses{Probability{0}, Probability{100'000},
                                            Probability{1'000'000}, Probability{10'000'000},
                                            Probability{30'000'000}};
constexpr std::array<std::string_view, 5> loss_names{"0", "0.01%", "0.1%", "1%", "3%"};
constexpr std::array<std::string_view, reordering_count> reordering_names{"none", "one", "ten",
                                                                          "quarter"};

std::uint32_t place_of(Probability loss) {
  std::uint32_t place = 0;
  while (losses[place].per_billion != loss.per_billion) {
    ++place;
    CHECK(place < losses.size());
  }
  return place;
}

std::uint32_t place_of(Duration rtt) {
  return static_cast<std::uint32_t>(std::find(rtts.begin(), rtts.end(), rtt) - rtts.begin());
}

// DCTCP only where queues mark and round trips are short.
bool is_sensible(const Cell& cell) {
  return cell.congestion != tcp::Congestion::dctcp ||
         (cell.rtt == rtts[0] && cell.bits_per_second == rates[1]);
}

Duration segment_time(const Cell& cell) {
  return Duration{frame_bits * 1'000'000'000 / cell.bits_per_second};
}

// Twice what the path holds, within bounds.
Bytes buffer_of(const Cell& cell) {
  std::uint64_t const held = cell.bits_per_second / 8 * cell.rtt.ns / 1'000'000'000;
  return Bytes{static_cast<std::uint32_t>(std::clamp(held * 2, window_least, window_most))};
}

Config config_of(const Cell& cell, Rack rack) {
  // Every field that affects throughput is set here, so that a changed default does not change the
  // table.
  Config config = profile_rfc();
  tcp::Config& tcp = config.tcp;
  tcp.rto_min = Duration::milliseconds(200);
  tcp.delayed_ack = Duration::milliseconds(40);
  tcp.ack_stretch_segments = Count{2};
  tcp.initial_window = tcp::InitialWindow::rfc6928;
  tcp.congestion = cell.congestion;
  tcp.ecn = cell.congestion == tcp::Congestion::dctcp ? tcp::EcnPolicy::on : tcp::EcnPolicy::off;
  tcp.hystart = false;
  tcp.pacing = false;
  tcp.window_scale = true;
  tcp.timestamps = true;
  tcp.sack = true;
  tcp.dsack = true;
  tcp.limited_transmit = true;
  tcp.prr = true;
  tcp.prr_conservative = false;
  tcp.frto = true;
  tcp.undo = true;
  tcp.rack = rack == Rack::on;
  tcp.tail_probe = rack == Rack::on;
  tcp.receive_buffer = buffer_of(cell);
  tcp.send_buffer = buffer_of(cell);
  tcp.receive_buffer_max = {};
  tcp.send_buffer_max = {};
  tcp.extents_per_connection = Count{1'024};
  tcp.connections_max = Count{2};
  tcp.active_max = Count{2};
  tcp.time_wait_max = Count{2};
  return config;
}

}  // namespace

const std::vector<Cell>& matrix_cells() {
  static const std::vector<Cell> cells = [] {
    std::vector<Cell> out;
    for (auto const congestion :
         {tcp::Congestion::reno, tcp::Congestion::cubic, tcp::Congestion::dctcp}) {
      for (std::uint64_t const rate : rates) {
        for (Duration const rtt : rtts) {
          for (Probability const loss : losses) {
            for (std::uint32_t i = 0; i < reordering_count; ++i) {
              Cell const cell{congestion, rate, rtt, loss, static_cast<Reordering>(i)};
              if (is_sensible(cell)) {
                out.push_back(cell);
              }
            }
          }
        }
      }
    }
    return out;
  }();
  return cells;
}

bool of_the_sixth(const Cell& cell) {
  std::uint32_t const sum = place_of(cell.loss) + static_cast<std::uint32_t>(cell.reordering) +
                            place_of(cell.rtt) + (cell.bits_per_second == rates[0] ? 0u : 3u) +
                            2u * static_cast<std::uint32_t>(cell.congestion);
  return sum % 6 == 0;
}

std::uint64_t window_segments(const Cell& cell) { return cell.rtt.ns / segment_time(cell).ns; }

Duration hold_of(const Cell& cell) {
  Duration const segment = segment_time(cell);
  Duration const one{segment.ns + segment.ns / 2};
  bool const small = window_segments(cell) < 8;
  switch (cell.reordering) {
    case Reordering::none:
      return {};
    case Reordering::one:
      return one;
    case Reordering::ten:
      return small ? one : Duration{segment.ns * 10 + segment.ns / 2};
    case Reordering::quarter:
      return small ? one : Duration{cell.rtt.ns / 4};
  }
  return {};
}

bool within_window(const Cell& cell) {
  // The transmission times of a segment and an ACK add to the minimum RTT.
  return hold_of(cell).ns * 4 <= cell.rtt.ns + segment_time(cell).ns;
}

std::uint64_t expected_percent(const Cell& cell) {
  Bytes const held{static_cast<std::uint32_t>(window_segments(cell) * segment_text)};
  bool const bound = buffer_of(cell) < held;
  std::uint64_t const rtt = cell.rtt.ns;
  return bound ? 95 * rtt / (rtt + hold_of(cell).ns) : 95;
}

std::string name_of(const Cell& cell) {
  std::uint64_t const us = cell.rtt.ns / 1'000;
  return fmt::format("{:<5} {:>5} {:>6} {:>6} {:<8}",
                     tcp::congestion_names[static_cast<std::uint8_t>(cell.congestion)],
                     cell.bits_per_second == rates[0] ? "10M" : "1G",
                     us < 1'000 ? fmt::format("{}us", us) : fmt::format("{}ms", us / 1'000),
                     loss_names[place_of(cell.loss)],
                     reordering_names[static_cast<std::uint8_t>(cell.reordering)]);
}

sim::World cell_world(const Cell& cell, Rack rack) {
  sim::LaneSpec lane;
  lane.rate_bits_per_second = cell.bits_per_second;
  lane.delay = Duration{cell.rtt.ns / 2};
  lane.mark_packets = cell.congestion == tcp::Congestion::dctcp ? 20 : 0;
  sim::World world = sim::two_hosts(lane);
  world.hosts = {sim::plain_host("a", 1, config_of(cell, rack)),
                 sim::plain_host("b", 2, config_of(cell, rack))};
  sim::AppSpec app = sim::app_of("bulk", (span_of(cell).warm + span_of(cell).measured) * 16);
  app.lend = true;
  world.apps = {app};
  const auto add = [&](sim::Name name, const sim::LaneFault& fault) {
    sim::LaneFaultSpec spec = sim::fault_of_link(name, fault);
    spec.back = false;
    world.lane_faults.push_back(spec);
  };
  add("loss", sim::Loss{cell.loss});
  if (cell.reordering != Reordering::none) {
    add("reorder", sim::Reorder{held_back, hold_of(cell)});
  }
  world.invariants_every = 256;  // a cell has about ten thousand turns
  world.limit = Duration::seconds(1'000'000);
  return world;
}

Span span_of(const Cell& cell) {
  bool const lossy = cell.loss.per_billion >= 10'000'000;
  return lossy ? Span{2'000 * segment_text, 20'000 * segment_text}
               : Span{20'000 * segment_text, 40'000 * segment_text};
}

std::uint32_t run_cell(const Cell& cell, Rack rack, std::uint64_t seed, const PortKind& port) {
  sim::World world = cell_world(cell, rack);
  sim::Registry registry = sim::Registry::standard();
  if (port.give != nullptr) {
    registry.add_nic(sim::Name(port.name), port.nic);
    CHECK(port.give(world) == world.hosts.size());
  }
  sim::Kernel kernel(world, seed, registry);
  const auto run_until_read = [&](std::uint64_t bytes) {
    const auto& flows = kernel.ledger().flows();
    while (flows.empty() || flows[0].end(sim::Side::acceptor).read < bytes) {
      // Throughput is only defined if the transfer ends.
      CHECK(kernel.step() && kernel.now() < Instant{0} + kernel.world().limit);
    }
    CHECK(flows[0].end(sim::Side::acceptor).intact);
    return flows[0].end(sim::Side::acceptor).read;
  };
  Span const span = span_of(cell);
  std::uint64_t const before = run_until_read(span.warm);
  Instant const from = kernel.now();
  std::uint64_t const after = run_until_read(before + span.measured);
  return static_cast<std::uint32_t>((after - before) * 8 * 1'000'000 / kernel.now().since(from).ns);
}

}  // namespace lockstep::tools
