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

/// Serves `/bytes/N` and the added pages on every stack of its node.
class LockstepHttpServer : public Application {
 public:
  static TypeId GetTypeId();
  LockstepHttpServer();
  ~LockstepHttpServer() override;

  /// Adds a page before the application starts. False: the path is too long or already known.
  bool AddPage(const std::string& path, const std::string& text);

  /// Requests answered with any status, summed over all stacks.
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

/// Requests one path repeatedly and compares each response with what it should be.
class LockstepHttpClient : public Application {
 public:
  static TypeId GetTypeId();
  LockstepHttpClient();
  ~LockstepHttpClient() override;

  /// Every request was answered or given up, and every connection is closed.
  bool IsFinished() const;
  /// Correct responses in time.
  std::uint64_t GetAnswered() const;
  /// Requests that failed for any reason.
  std::uint64_t GetFailed() const;
  std::uint64_t GetBodyOctets() const;
  /// The time from a request to the end of its response that `percent` of all do not exceed.
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
  lockstep::http::Site site_;  // holds the pattern of generated bodies
  std::unique_ptr<Guest> guest_;
  TracedValue<std::uint64_t> answered_ = 0;
  TracedValue<std::uint64_t> failed_ = 0;
};

}  // namespace ns3
