// Chatter: requests and responses of fixed lengths, with think time between them.
#pragma once

#include "sim/models/client.hpp"

namespace lockstep::sim {

class ChatterClient final : public Client {
 public:
  using Client::Client;
  std::unique_ptr<Model> clone() const override { return std::make_unique<ChatterClient>(*this); }

 protected:
  void opened(Desk& desk, Session& session) override { ask(desk, session); }
  void readable(Desk& desk, Session& session) override;
  void writable(Desk& desk, Session& session) override;
  void due(Desk& desk, Session& session) override { ask(desk, session); }

 private:
  void ask(Desk& desk, Session& session);
};

class ChatterServer final : public Server {
 public:
  using Server::Server;
  std::unique_ptr<Model> clone() const override { return std::make_unique<ChatterServer>(*this); }

 protected:
  void readable(Desk& desk, Session& session) override;
  void writable(Desk& desk, Session& session) override;
  void peer_finished(Desk& desk, Session& session) override;
};

}  // namespace lockstep::sim
