// Sockets of a simulated host: a model of the kernel, beside the models of its [[app]]s.
#include "tools/lib/sim_sockets/simulated.hpp"

#include "core/units/check.hpp"

namespace lockstep::tools {

SimulatedSockets::SimulatedSockets(sim::Host& host, sim::ModelIndex index,
                                   const SocketSettings& settings)
    : host_(host), index_(index), sockets_(host.stack(), settings) {
  sockets_.announce({[](void* self, ConnectionId id) {
                       auto& mine = *static_cast<SimulatedSockets*>(self);
                       mine.host_.state().routes.add({id, {}, sim::Side::opener, mine.index_, 0});
                     },
                     [](void* self, ListenerId id) {
                       auto& mine = *static_cast<SimulatedSockets*>(self);
                       mine.host_.state().routes.listen(id, mine.index_);
                     },
                     this});
}

SimulatedSockets& SimulatedSockets::join(sim::Kernel& kernel, sim::HostIndex host,
                                         const SocketSettings& settings) {
  CHECK(kernel.steps() == 0);
  sim::Host& at = kernel.host(host);
  sim::ModelIndex const index{static_cast<std::uint32_t>(at.models().size())};
  at.models().push_back(std::unique_ptr<sim::Model>(new SimulatedSockets(at, index, settings)));
  return static_cast<SimulatedSockets&>(*at.models().back());
}

void SimulatedSockets::visit(sim::Kernel& kernel, Instant next) {
  next_visit_ = host_.clock().local(next);
  kernel.wake(host_.index());
}

void SimulatedSockets::on_event(sim::Desk& desk, const Event& event) {
  if (event.kind == EventKind::accepted) {
    desk.routes.add({event.id, {}, sim::Side::acceptor, index_, 0});
  }
  sockets_.on_event(desk.stack, event);
}

void SimulatedSockets::run(sim::Desk& desk) {
  if (next_visit_ <= desk.now) {
    next_visit_ = Instant::never();
  }
  sockets_.run(desk.stack, desk.now);
}

std::unique_ptr<sim::Model> SimulatedSockets::clone() const {
  bool const can_be_copied = false;
  CHECK(can_be_copied);
  return nullptr;
}

}  // namespace lockstep::tools
