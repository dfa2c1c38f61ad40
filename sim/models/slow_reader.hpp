// Slow reader: a server that reads a little at a time, so that its window closes.
#pragma once

#include "sim/models/client.hpp"

namespace lockstep::sim {

class SlowReader final : public Server {
 public:
  using Server::Server;
  std::unique_ptr<Model> clone() const override { return std::make_unique<SlowReader>(*this); }

 protected:
  void opened(Desk& desk, Session& session) override;
  void readable(Desk& desk, Session& session) override { look_again(desk, session); }
  void due(Desk& desk, Session& session) override;
  void peer_finished(Desk& desk, Session& session) override { look_again(desk, session); }

 private:
  // Schedules the next read, unless one is scheduled.
  void look_again(Desk& desk, Session& session);
};

}  // namespace lockstep::sim
