// Bulk: the client sends a fixed number of bytes and closes; the server reads them on arrival.
#pragma once

#include "sim/models/client.hpp"

namespace lockstep::sim {

// Sends AppSpec::bytes octets on each connection, then ends it as AppSpec::close_mode says.
class BulkClient final : public Client {
 public:
  using Client::Client;
  std::unique_ptr<Model> clone() const override { return std::make_unique<BulkClient>(*this); }

 protected:
  void opened(Desk& desk, Session& session) override;
  void writable(Desk& desk, Session& session) override;
};

// Reads and checks all that arrives, as Server does.
class BulkServer final : public Server {
 public:
  using Server::Server;
  std::unique_ptr<Model> clone() const override { return std::make_unique<BulkServer>(*this); }
};

}  // namespace lockstep::sim
