// Half close: the server sends only after the client has sent everything and finished.
#pragma once

#include "sim/models/client.hpp"

namespace lockstep::sim {

class HalfCloseClient final : public Client {
 public:
  using Client::Client;
  std::unique_ptr<Model> clone() const override { return std::make_unique<HalfCloseClient>(*this); }

 protected:
  void opened(Desk& desk, Session& session) override;
  void writable(Desk& desk, Session& session) override;
};

class HalfCloseServer final : public Server {
 public:
  using Server::Server;
  std::unique_ptr<Model> clone() const override { return std::make_unique<HalfCloseServer>(*this); }

 protected:
  void writable(Desk& desk, Session& session) override;
  void peer_finished(Desk& desk, Session& session) override;
};

}  // namespace lockstep::sim
