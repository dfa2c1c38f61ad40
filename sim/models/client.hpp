// Clients and servers: when an application's connections begin, and which side listens.
#pragma once

#include <vector>

#include "core/units/address.hpp"
#include "sim/models/session.hpp"

namespace lockstep::sim {

// Starts each flow of the application at its time, and the next connection of a flow after the
// last.
class Client : public SessionModel {
 public:
  // `local`: the source port; zero: any.
  Client(const AppSpec& spec, IpAddress server, Port local = {})
      : SessionModel(spec), server_(server), local_(local) {}

  void run(Desk& desk) override;
  Instant deadline() const override;
  bool done() const override { return planned_ && left_ == 0 && SessionModel::done(); }

 protected:
  void closed(Desk& desk, Session& session) override;
  // The time before the next request or connection of a flow: fixed, or the next one drawn.
  Duration pause_of(std::uint32_t lane);

 private:
  struct FlowPlan {
    Instant next;
    std::uint32_t left = 0;
    bool talking = false;
    std::uint64_t bytes = 0;  // of the next connection
    Random sizes{};           // only of an application that draws
    Random pauses{};
  };

  void plan(Instant now);
  std::uint64_t size_of(FlowPlan& flow) const;
  std::vector<Instant> starts(Instant now) const;

  IpAddress server_;
  Port local_;
  bool planned_ = false;
  std::vector<FlowPlan> plans_;
  std::uint64_t left_ = 0;  // connections that have not ended
  Instant earliest_{0};
};

// Listens from its first turn on.
class Server : public SessionModel {
 public:
  explicit Server(const AppSpec& spec) : SessionModel(spec) {}

  void run(Desk& desk) override;
  Instant deadline() const override;

 protected:
  // Closes our side once the peer has closed its side.
  void peer_finished(Desk& desk, Session& session) override;

 private:
  bool listening_ = false;
  Instant retry_{0};
};

}  // namespace lockstep::sim
