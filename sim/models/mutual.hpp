// Mutual: both sides connect to each other, send and finish at the same time.
#pragma once

#include "sim/models/client.hpp"

namespace lockstep::sim {

// Simultaneous open and, where the timing allows, simultaneous close. Both ends are clients that
// connect from the application's port to the same port.
class Mutual final : public Client {
 public:
  Mutual(const AppSpec& spec, IpAddress peer) : Client(single(spec), peer, spec.port) {}
  std::unique_ptr<Model> clone() const override { return std::make_unique<Mutual>(*this); }

 protected:
  void opened(Desk& desk, Session& session) override;
  void writable(Desk& desk, Session& session) override;

 private:
  // The port is fixed, so there is one connection.
  static AppSpec single(AppSpec spec) {
    spec.flows = 1;
    spec.repeat = 1;
    return spec;
  }
};

}  // namespace lockstep::sim
