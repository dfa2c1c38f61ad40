// A sender of a known byte pattern and a sink that verifies it, over our sockets.
#pragma once

#include <ns3/address.h>
#include <ns3/application.h>
#include <ns3/nstime.h>
#include <ns3/ptr.h>
#include <ns3/traced-callback.h>
#include <ns3/type-id.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/models/pattern.hpp"
#include "sim/ns3/socket.hpp"

namespace ns3 {

/// Sends MaxBytes of a pattern as fast as the stack accepts them, then finishes.
class LockstepBulkSend : public Application {
 public:
  static TypeId GetTypeId();

  /// Null before the application has started.
  Ptr<LockstepSocket> GetSocket() const { return socket_; }
  std::uint64_t GetTotalTx() const { return written_; }
  bool IsConnected() const { return connected_; }
  bool HasFailed() const { return failed_; }

 protected:
  void DoDispose() override;

 private:
  void StartApplication() override;
  void StopApplication() override;
  void Connected(Ptr<Socket> socket);
  void Failed(Ptr<Socket> socket);
  void Writable(Ptr<Socket> socket, std::uint32_t available);

  Address remote_;
  std::uint64_t bytes_ = 0;
  std::uint64_t stream_ = 0;
  std::uint8_t dscp_ = 0;
  Ptr<LockstepSocket> socket_;
  std::uint64_t written_ = 0;
  bool connected_ = false;
  bool finished_ = false;
  bool failed_ = false;
};

/// Accepts connections, reads all data, and closes when the peer does.
class LockstepSink : public Application {
 public:
  static TypeId GetTypeId();

  std::uint64_t GetTotalRx() const { return read_; }
  /// Octets in pieces that differ from what LockstepBulkSend sends there; 0 if Verify is off.
  std::uint64_t GetMistakes() const { return mistakes_; }
  Time GetFirstAt() const { return first_at_; }
  Time GetLastAt() const { return last_at_; }
  std::uint32_t GetConnections() const { return static_cast<std::uint32_t>(peers_.size()); }
  /// Of these, the ones that closed without an error.
  std::uint32_t GetFinished() const { return finished_; }
  const std::vector<Ptr<LockstepSocket>>& GetSockets() const { return peers_; }

 protected:
  void DoDispose() override;

 private:
  void StartApplication() override;
  void StopApplication() override;
  void Accepted(Ptr<Socket> socket, const Address& from);
  void Readable(Ptr<Socket> socket);
  void PeerClosed(Ptr<Socket> socket);

  Address local_;
  bool verify_ = false;
  std::uint64_t stream_ = 0;
  Ptr<LockstepSocket> listener_;
  std::vector<Ptr<LockstepSocket>> peers_;
  std::vector<std::uint64_t> offsets_;                     // octets read, per peer
  std::unordered_map<const Socket*, std::size_t> places_;  // index into peers_ and offsets_
  std::uint64_t read_ = 0;
  std::uint64_t mistakes_ = 0;
  std::uint32_t finished_ = 0;
  Time first_at_;
  Time last_at_;
  TracedCallback<std::uint32_t> rx_trace_;
};

}  // namespace ns3
