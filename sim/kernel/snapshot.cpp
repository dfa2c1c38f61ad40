// Takes and restores a kernel's snapshot.
#include "sim/kernel/snapshot.hpp"

namespace lockstep::sim {

std::unique_ptr<KernelSnapshot> Kernel::snapshot() const {
  auto made = std::make_unique<KernelSnapshot>(KernelSnapshot{bus_,
                                                              schedule_,
                                                              ledger_,
                                                              {},
                                                              {},
                                                              station_due_,
                                                              now_,
                                                              steps_,
                                                              frames_sent_,
                                                              frames_hash_,
                                                              ended_});
  for (auto const& each : hosts_) {
    HostSnapshot kept;
    kept.stack.resize(static_cast<std::size_t>(each->stack().snapshot_bytes()));
    each->stack().snapshot(kept.stack);
    kept.state = each->state();
    kept.nic = each->nic() == nullptr ? nullptr : each->nic()->snapshot();
    for (auto const& model : each->models()) {
      kept.models.push_back(model->clone());
    }
    made->hosts.push_back(std::move(kept));
  }
  for (auto const& station : stations_) {
    made->stations.push_back(station->clone());
  }
  return made;
}

void Kernel::restore(const KernelSnapshot& snapshot) {
  CHECK(snapshot.hosts.size() == hosts_.size());
  CHECK(snapshot.stations.size() == stations_.size());
  bus_ = snapshot.bus;
  schedule_ = snapshot.schedule;
  ledger_ = snapshot.ledger;
  station_due_ = snapshot.station_due;
  now_ = snapshot.now;
  steps_ = snapshot.steps;
  frames_sent_ = snapshot.frames_sent;
  frames_hash_ = snapshot.frames_hash;
  ended_ = snapshot.ended;
  undone_host_ = 0;
  undone_model_ = 0;
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    HostSnapshot const& kept = snapshot.hosts[i];
    Refusal const refusal = hosts_[i]->stack().restore(kept.stack);
    CHECK(refusal == Refusal::none);
    hosts_[i]->state() = kept.state;
    if (hosts_[i]->nic() != nullptr) {
      hosts_[i]->nic()->restore(*kept.nic);
    }
    for (std::uint32_t m = 0; m < kept.models.size(); ++m) {
      hosts_[i]->models()[m] = kept.models[m]->clone();
    }
  }
  for (std::uint32_t i = 0; i < stations_.size(); ++i) {
    stations_[i] = snapshot.stations[i]->clone();
  }
  station_failed_ = !fault().empty();
}

}  // namespace lockstep::sim
