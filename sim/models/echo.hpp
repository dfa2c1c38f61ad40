// Echo: the server sends back what it reads; the client closes when it has read all of it.
#pragma once

#include "sim/models/client.hpp"

namespace lockstep::sim {

class EchoClient final : public Client {
 public:
  using Client::Client;
  std::unique_ptr<Model> clone() const override { return std::make_unique<EchoClient>(*this); }

 protected:
  void opened(Desk& desk, Session& session) override;
  void readable(Desk& desk, Session& session) override;
  void writable(Desk& desk, Session& session) override;
};

class EchoServer final : public Server {
 public:
  using Server::Server;
  std::unique_ptr<Model> clone() const override { return std::make_unique<EchoServer>(*this); }

 protected:
  void opened(Desk& desk, Session& session) override;
  void readable(Desk& desk, Session& session) override { echo(desk, session); }
  void writable(Desk& desk, Session& session) override { echo(desk, session); }
  void peer_finished(Desk& desk, Session& session) override { echo(desk, session); }

 private:
  void echo(Desk& desk, Session& session);
};

}  // namespace lockstep::sim
