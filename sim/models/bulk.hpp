// Bulk: the client sends so many bytes and parts; the server reads them as they come.
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
