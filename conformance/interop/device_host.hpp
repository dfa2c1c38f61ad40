// A device as a host of a simulated world, with the applications of sim/models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/interop/device_node.hpp"
#include "conformance/interop/wire_watch.hpp"
#include "core/tcp/interface.hpp"
#include "core/units/hash.hpp"
#include "core/units/random.hpp"
#include "sim/kernel/registry.hpp"

namespace lockstep::conformance {

/// The name of the station in a registry.
inline constexpr sim::Name device_host_model = "device";

/// Adds it. Right after the kernel's constructor, Kernel::fault() tells if a device cannot be
/// found, cannot be made or lacks what its applications need; later it tells if a device failed.
void add_device_hosts(sim::Registry& registry);

/// Runs the applications of World::station_apps whose ends it is: bulk, chatter, echo, half_close,
/// slow_reader. It writes the kernel's pattern and records its ends in the ledger as a host's
/// models do: octets, times, how they ended, and what the packets and the device's variables show.
/// It answers ARP and neighbour solicitations for the device, which has no link header of its own.
class DeviceHost final : public DeviceNode {
 public:
  /// `spec.device` names the device, `spec.settings` has lines "name=value" for it. It draws its
  /// numbers from `random`.
  DeviceHost(const sim::World& world, const sim::StationSpec& spec, Random random);

  Instant deadline() const override;
  bool done() const override;
  std::uint64_t fingerprint() const override;

 private:
  /// One concurrent flow of an application whose client is here.
  struct FlowPlan {
    std::size_t app = 0;
    Instant next{0};
    std::uint32_t left = 0;  ///< connections
    bool busy = false;
  };
  struct Listener {
    std::size_t app = 0;
    std::uint64_t handle = 0;
  };
  struct ProgramConnection {
    std::uint64_t handle = 0;
    std::size_t app = 0;
    std::optional<std::size_t> plan;  ///< of a client
    FourTuple tuple;
    sim::FlowId flow;
    sim::Side side = sim::Side::opener;
    bool begun = false;  ///< the ledger has it
    bool established = false, over = false;
    std::uint64_t round = 0;
    std::uint64_t goal = 0;
    Instant due = Instant::never();  ///< its next action by the clock
    std::uint64_t sampled = 0;       ///< octets acknowledged at the last sample of the RTT
  };

  const sim::AppSpec& spec_of(const ProgramConnection& connection) const {
    return apps_[connection.app];
  }
  void take(sim::StationDesk& desk, std::span<const std::byte> frame) override;
  void work_at_deadline(sim::StationDesk& desk) override;
  void put(sim::StationDesk& desk, const DeviceAnswer& answer) override;
  void create(const sim::World& world, Random random);
  void take_applications(const sim::World& world);
  void listen_for(std::size_t app);
  void put_frame(sim::StationDesk& desk, std::span<const std::byte> frame);
  void answer_neighbour(sim::StationDesk& desk, std::span<const std::byte> packet);

  void open(sim::StationDesk& desk);
  void note_opened(sim::StationDesk& desk, const FourTuple& tuple);
  void accept_all(sim::StationDesk& desk);
  void begin(sim::StationDesk& desk, ProgramConnection& connection);
  void go_on(sim::StationDesk& desk, ProgramConnection& connection);
  bool is_established(ProgramConnection& connection);
  void read(sim::StationDesk& desk, ProgramConnection& connection);
  void heard(sim::StationDesk& desk, ProgramConnection& connection,
             std::span<const std::byte> octets);
  void decide(sim::StationDesk& desk, ProgramConnection& connection);
  void ask_again(sim::StationDesk& desk, ProgramConnection& connection);
  void write(sim::StationDesk& desk, ProgramConnection& connection);
  void part(sim::StationDesk& desk, ProgramConnection& connection, sim::CloseMode close_mode);
  void end(sim::StationDesk& desk, ProgramConnection& connection, Cause cause);
  Cause cause_of(const ProgramConnection& connection);
  void measure(sim::StationDesk& desk, ProgramConnection& connection);
  void forget_ended();
  Instant program_due() const;

  sim::StationSpec spec_;
  std::vector<std::pair<IpAddress, Mac>> neighbours_;
  std::vector<sim::AppSpec> apps_;  ///< with the server's address
  std::vector<FlowPlan> plans_;
  std::vector<Listener> listeners_;
  std::vector<ProgramConnection> connections_;
  WireWatch watch_;
  Fingerprint sent_;
  std::uint16_t next_port_ = 49'152;
  Instant worked_{0};
};

}  // namespace lockstep::conformance
