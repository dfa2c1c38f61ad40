// The registry: models, stations and NICs by name, so that a tool can add its own.
#pragma once

#include <memory>
#include <vector>

#include "core/units/random.hpp"
#include "sim/bus/name.hpp"
#include "sim/kernel/nic.hpp"
#include "sim/kernel/station.hpp"
#include "sim/kernel/world.hpp"
#include "sim/models/model.hpp"

namespace lockstep::sim {

enum class Role : std::uint8_t { client, server };

// Creates the part of an application that runs on one side.
using ModelMaker = std::unique_ptr<Model> (*)(const World&, const AppSpec&, Role);
using StationMaker = std::unique_ptr<Station> (*)(const World&, const StationSpec&, Random);

class Registry {
 public:
  // The models and stations of sim: bulk, echo, chatter, half_close, slow_reader, mutual;
  // random_peer, and an attacker for each kind of attack.
  static Registry standard();

  void add_model(Name name, ModelMaker maker) { models_.push_back({name, maker}); }
  void add_station(Name name, StationMaker maker) { stations_.push_back({name, maker}); }
  void add_nic(Name name, NicMaker maker) { nics_.push_back({name, maker}); }
  // nullptr: no such name is registered.
  ModelMaker model(Name name) const;
  StationMaker station(Name name) const;
  NicMaker nic(Name name) const;

 private:
  struct NamedModel {
    Name name;
    ModelMaker maker;
  };
  struct NamedStation {
    Name name;
    StationMaker maker;
  };
  struct NamedNic {
    Name name;
    NicMaker maker;
  };
  std::vector<NamedModel> models_;
  std::vector<NamedStation> stations_;
  std::vector<NamedNic> nics_;
};

}  // namespace lockstep::sim
