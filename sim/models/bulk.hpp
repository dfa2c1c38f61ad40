// Bulk: the client sends a fixed number of bytes and closes; the server reads them on arrival.
#pragma once

#include "sim/models/client.hpp"

namespace lockstep::sim {

class BulkClient final : public Client {
 public:
  using Client::Client;
  std::unique_ptr<Model> clone() const override { return std::make_unique<BulkClient>(*this); }

 protected:
  void opened(Desk& desk, Session& session) override;
  void writable(Desk& desk, Session& session) override;
};

class BulkServer final : public Server {
 public:
  using Server::Server;
  std::unique_ptr<Model> clone() const override { return std::make_unique<BulkServer>(*this); }
};

}  // namespace lockstep::sim
