// Finds the model that a connection or a listener belongs to.
#include "sim/models/model.hpp"

namespace lockstep::sim {

void Routes::add(const Route& route) {
  CHECK(route.id.slot != ConnectionId{}.slot);
  if (route.id.slot >= by_slot_.size()) {
    by_slot_.resize(std::size_t{route.id.slot} + 1);
  }
  by_slot_[route.id.slot] = route;
}

const Routes::Route* Routes::find(ConnectionId id) const {
  if (id.slot >= by_slot_.size() || !(by_slot_[id.slot].id == id)) {
    return nullptr;
  }
  return &by_slot_[id.slot];
}

Routes::Route* Routes::find(ConnectionId id) {
  return const_cast<Route*>(static_cast<const Routes*>(this)->find(id));
}

ModelIndex Routes::model_of(ListenerId listener) const {
  for (const Listening& listening : listeners_) {
    if (listening.listener == listener) {
      return listening.model;
    }
  }
  return {};
}

}  // namespace lockstep::sim
