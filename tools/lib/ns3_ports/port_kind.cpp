// The ns-3 port for scenarios, which play the wire, and as a NIC for hosts of our simulator.
#include "tools/lib/ns3_ports/port_kind.hpp"

#include <memory>
#include <utility>

#include "core/units/check.hpp"
#include "tools/lib/ns3_ports/line.hpp"

namespace lockstep::tools {
namespace {

constexpr std::string_view kind_name = "ns3";

Config config_of(Bytes mtu) {
  Config config;
  config.link = LinkType::ip;
  config.mtu = mtu;
  return config;
}

class Ns3Bench final : public Bench {
 public:
  explicit Ns3Bench(Bytes mtu) : line_(config_of(mtu)) {}

  void set_now(Instant now) override { line_.advance(now); }
  void arrive(std::span<const std::byte> packet) override { CHECK(line_.arrive(packet)); }
  std::vector<std::vector<std::byte>> take() override { return line_.take(); }
  std::span<const Ingress> receive() override { return line_.port().receive(); }
  std::span<std::byte> claim() override { return line_.port().claim(); }
  void commit(const Egress& egress) override { line_.port().commit(egress); }
  void reclaim() override { line_.port().reclaim(); }
  void flush() override { line_.port().flush(); }

 private:
  Ns3Line line_;
};

std::unique_ptr<Bench> make_bench(Bytes mtu) {
  constexpr std::uint32_t carried_max = 65'535;
  return mtu.count <= carried_max ? std::make_unique<Ns3Bench>(mtu) : nullptr;
}

// ns-3's device hardly queues: the host's lane and ring are those of the simulator.
class Ns3Nic final : public sim::Nic {
 public:
  explicit Ns3Nic(const sim::HostSpec& spec) : ring_(spec.transmit_ring), line_(spec.config) {}

  sim::NicTaking arrive(const sim::NicMoment& moment, std::span<const std::byte> frame) override {
    enter(moment);
    return {line_.arrive(frame), ShardId{0}};
  }

  // An ns-3 device has only one receiver.
  std::unique_ptr<sim::Nic> worker(ShardId) override {
    CHECK(false);
    return nullptr;
  }

  void turn_begins(const sim::NicMoment& moment) override {
    enter(moment);
    waiting_to_leave_ = moment.link.waiting();
  }

  void turn_ends(const sim::NicMoment& moment) override {
    for (auto const& frame : line_.take()) {
      moment.link.send(frame);
    }
    bool const full = moment.link.waiting() >= ring_;
    room_at_ = full ? moment.link.first_departure() : Instant{0};
  }

  Instant now() override { return line_.port().now(); }
  std::span<const Ingress> receive() override { return line_.port().receive(); }
  void reclaim() override { line_.port().reclaim(); }

  std::span<std::byte> claim() override {
    return waiting_to_leave_ < ring_ ? line_.port().claim() : std::span<std::byte>{};
  }

  void commit(const Egress& egress) override {
    line_.port().commit(egress);
    ++waiting_to_leave_;
  }
  void flush() override { line_.port().flush(); }

  std::uint32_t waiting() const override { return line_.port().waiting(); }
  Instant room_at() const override { return room_at_; }
  sim::NicLosses losses() const override { return {}; }

  // ns-3 cannot restore earlier states.
  std::unique_ptr<sim::NicSnapshot> snapshot() const override {
    CHECK(false);
    return nullptr;
  }
  void restore(const sim::NicSnapshot&) override { CHECK(false); }

 private:
  void enter(const sim::NicMoment& moment) {
    CHECK(moment.now == moment.local);  // there is only one clock
    line_.advance(moment.now);
  }

  std::uint32_t ring_;
  std::uint32_t waiting_to_leave_ = 0;
  mutable Ns3Line line_;
  Instant room_at_;
};

std::unique_ptr<sim::Nic> make_nic(const sim::HostSpec& spec, Random) {
  return std::make_unique<Ns3Nic>(spec);
}

std::uint32_t give(sim::World& world) {
  for (sim::HostSpec& host : world.hosts) {
    host.nic.driver = kind_name;
  }
  return static_cast<std::uint32_t>(world.hosts.size());
}

}  // namespace

PortKind ns3_port_kind() { return {kind_name, make_bench, make_nic, give}; }

}  // namespace lockstep::tools
