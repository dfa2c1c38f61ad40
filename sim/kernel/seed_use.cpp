// Lists what draws from the seed.
#include "sim/kernel/seed_use.hpp"

#include <variant>

namespace lockstep::sim {
namespace {

bool is_open(Probability p) { return p.per_billion != 0 && p.per_billion != Probability::certain; }

// Whether the result of a rule depends on what it draws.
struct DrawsForResult {
  bool operator()(const Loss& f) const { return is_open(f.probability); }
  bool operator()(const BurstLoss& f) const {
    return is_open(f.to_bad) || is_open(f.to_good) || is_open(f.good_loss) || is_open(f.bad_loss);
  }
  bool operator()(const Duplicate& f) const {
    return is_open(f.probability) || (f.probability.per_billion != 0 && f.within.ns != 0);
  }
  bool operator()(const Reorder& f) const { return is_open(f.probability); }
  bool operator()(const Corrupt& f) const { return f.probability.per_billion != 0; }
  bool operator()(const Substitute& f) const { return f.probability.per_billion != 0; }
  bool operator()(const Delay& f) const { return f.jitter.ns != 0; }
  bool operator()(const Mask&) const { return false; }
  bool operator()(const Partition&) const { return false; }
};

bool draws(const NicSpec& nic) {
  return !nic.plain() && (nic.no_buffer.per_billion != 0 || nic.ring_full.per_billion != 0 ||
                          nic.truncated.per_billion != 0 || nic.bad_sum.per_billion != 0 ||
                          nic.mispredicted.per_billion != 0 || nic.not_ready.per_billion != 0 ||
                          nic.late.per_billion != 0);
}

}  // namespace

std::vector<SeedUse> seed_uses(const World& world) {
  std::vector<SeedUse> out;
  for (const AppSpec& app : world.apps) {
    if (app.draws.any()) {
      out.push_back({"app", app.name});
    }
  }
  for (const LaneFaultSpec& fault : world.lane_faults) {
    if (std::visit(DrawsForResult{}, fault.fault)) {
      out.push_back({"fault", fault.name});
    }
  }
  for (const LinkSpec& link : world.links) {
    if (link.forward.output.draws() || link.back.output.draws()) {
      out.push_back({"queue", link.name});
    }
  }
  for (const HostSpec& host : world.hosts) {
    // The ports decide which shard has a connection.
    bool const first_shard = host.shards() != 1 && host.config.tcp.shard.value == 0;
    if (draws(host.nic) || first_shard) {
      out.push_back({first_shard ? "shards" : "nic", host.name});
    }
  }
  for (const StationSpec& station : world.stations) {
    if (station.device.empty() && station.acts != 0) {
      out.push_back({"station", station.name});
    }
  }
  return out;
}

}  // namespace lockstep::sim
