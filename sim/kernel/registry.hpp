// The registry: models, stations and cards by name, so that a tool can bring its own into a world.
#pragma once

#include <memory>
#include <vector>

#include "core/units/random.hpp"
#include "sim/bus/name.hpp"
#include "sim/kernel/card.hpp"
#include "sim/kernel/station.hpp"
#include "sim/kernel/world.hpp"
#include "sim/models/model.hpp"

namespace lockstep::sim {

enum class Role : std::uint8_t { client, server };

// Makes the part of an application that runs on one side.
using ModelMaker = std::unique_ptr<Model> (*)(const World&, const AppSpec&, Role);
using StationMaker = std::unique_ptr<Station> (*)(const World&, const StationSpec&, Random);

class Registry {
 public:
  // All that sim itself offers: bulk, echo, chatter, half_close, slow_reader, mutual; adversary,
  // and a liar for each lie.
  static Registry standard();

  void add_model(Name name, ModelMaker maker) { models_.push_back({name, maker}); }
  void add_station(Name name, StationMaker maker) { stations_.push_back({name, maker}); }
  void add_card(Name name, CardMaker maker) { cards_.push_back({name, maker}); }
  // nullptr: nobody has registered that name.
  ModelMaker model(Name name) const;
  StationMaker station(Name name) const;
  CardMaker card(Name name) const;

 private:
  struct NamedModel {
    Name name;
    ModelMaker maker;
  };
  struct NamedStation {
    Name name;
    StationMaker maker;
  };
  struct NamedCard {
    Name name;
    CardMaker maker;
  };
  std::vector<NamedModel> models_;
  std::vector<NamedStation> stations_;
  std::vector<NamedCard> cards_;
};

}  // namespace lockstep::sim
