// LockstepHttpServer and LockstepHttpClient: the web server and the load of tools/ inside ns-3.
#pragma once

#include <ns3/address.h>
#include <ns3/application.h>
#include <ns3/nstime.h>
#include <ns3/ptr.h>
#include <ns3/traced-value.h>
#include <ns3/type-id.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/ns3/stack.hpp"
#include "tools/lib/http/server.hpp"
#include "tools/lib/http/site.hpp"
#include "tools/lib/load/client.hpp"

namespace ns3 {

/// Serves `/bytes/N` and what was added, on every stack of its node.
class LockstepHttpServer : public Application {
 public:
  static TypeId GetTypeId();
  LockstepHttpServer();
  ~LockstepHttpServer() override;

  /// A page, before the application starts. False: the path is longer than a path may be, or known.
  bool AddPage(const std::string& path, const std::string& text);

  /// Of all stacks together: requests that were answered, whatever the answer.
  std::uint64_t GetRequests() const;
  std::uint64_t GetConnections() const;
  std::uint64_t GetBodyOctets() const;

 protected:
  void DoDispose() override;

 private:
  class Guest;
  void StartApplication() override;
  void StopApplication() override;

  std::uint16_t port_ = 80;
  lockstep::http::Site site_;
  std::vector<std::unique_ptr<Guest>> guests_;
  TracedValue<std::uint64_t> served_ = 0;
};

/// Asks a server for one path, over and over, and holds each answer against what it should be.
class LockstepHttpClient : public Application {
 public:
  static TypeId GetTypeId();
  LockstepHttpClient();
  ~LockstepHttpClient() override;

  /// All was asked, answered or given up, and closed.
  bool IsFinished() const;
  /// Rightly and in time.
  std::uint64_t GetAnswered() const;
  /// Failed, for whatever reason.
  std::uint64_t GetFailed() const;
  std::uint64_t GetBodyOctets() const;
  /// From a request to the end of its answer, that `percent` of all took no longer than.
  Time GetLatency(std::uint32_t percent) const;

 protected:
  void DoDispose() override;

 private:
  class Guest;
  void StartApplication() override;
  void StopApplication() override;

  Address remote_;
  std::string path_;
  std::uint64_t requests_ = 0;
  std::uint32_t connections_ = 0;
  std::uint32_t requests_a_connection_ = 0;
  lockstep::http::Site site_;  // of the pattern that generated bodies are made of
  std::unique_ptr<Guest> guest_;
  TracedValue<std::uint64_t> answered_ = 0;
  TracedValue<std::uint64_t> failed_ = 0;
};

}  // namespace ns3
