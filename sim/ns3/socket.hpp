// ns-3's Socket over the core, so that BulkSend, OnOff and PacketSink run on it unchanged.
#pragma once

#include <ns3/nstime.h>
#include <ns3/ptr.h>
#include <ns3/socket.h>
#include <ns3/tcp-socket.h>
#include <ns3/traced-value.h>
#include <ns3/type-id.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/stack/event.hpp"

namespace ns3 {

class LockstepHost;
class LockstepStack;
class LockstepSocket;

/// A TracedValue that reports the first connected trace sink: values without a sink are not
/// sampled.
template <class T>
class LockstepTraced : public TracedValue<T> {
 public:
  explicit LockstepTraced(LockstepSocket& owner) : owner_(owner) {}
  LockstepTraced(const LockstepTraced&) = delete;
  LockstepTraced& operator=(const LockstepTraced&) = delete;
  void ConnectWithoutContext(const CallbackBase& callback);
  void Connect(const CallbackBase& callback, const std::string& path);

 private:
  LockstepSocket& owner_;
};

class LockstepSocket : public Socket {
 public:
  static TypeId GetTypeId();
  explicit LockstepSocket(Ptr<LockstepHost> host);
  ~LockstepSocket() override;

  enum SocketErrno GetErrno() const override { return errno_; }
  enum SocketType GetSocketType() const override { return NS3_SOCK_STREAM; }
  Ptr<Node> GetNode() const override;
  int Bind(const Address& address) override;
  int Bind() override;
  int Bind6() override;
  int Close() override;
  int ShutdownSend() override;
  int ShutdownRecv() override;
  int Connect(const Address& address) override;
  int Listen() override;
  std::uint32_t GetTxAvailable() const override;
  int Send(Ptr<Packet> packet, std::uint32_t flags) override;
  int SendTo(Ptr<Packet> packet, std::uint32_t flags, const Address& to) override;
  std::uint32_t GetRxAvailable() const override;
  Ptr<Packet> Recv(std::uint32_t size, std::uint32_t flags) override;
  Ptr<Packet> RecvFrom(std::uint32_t size, std::uint32_t flags, Address& from) override;
  int GetSockName(Address& address) const override;
  int GetPeerName(Address& address) const override;
  bool SetAllowBroadcast(bool allow) override { return !allow; }
  bool GetAllowBroadcast() const override { return false; }
  using Socket::Recv;
  using Socket::Send;

  // Additions to Socket: data without packets.

  /// Writes as much as there is room for; returns the number of octets taken.
  std::uint32_t Write(std::span<const std::byte> octets, lockstep::More more = lockstep::More::no);
  /// The first contiguous unread octets; empty: there are none, or the connection no longer exists.
  std::span<const std::byte> Readable() const;
  void Consume(std::uint32_t octets);
  /// Everything the core knows about the connection; `exists` is false if there is none.
  lockstep::ConnectionInfo Inspect() const;
  /// Resets the connection.
  void Abort();

  // For LockstepStack.
  Ptr<LockstepSocket> Fork(Ptr<LockstepStack> stack, lockstep::ConnectionId id);
  void Accepted(Ptr<LockstepSocket> socket);
  void HandleEvent(const lockstep::Event& event);
  /// The stack no longer exists: the socket has neither connections nor listeners on it.
  void StackGone(const LockstepStack* stack);
  /// Updates the traced values.
  void Sample();
  /// A trace sink was connected to a traced value.
  void Watch();

 protected:
  void DoDispose() override;

 private:
  int Fail(enum SocketErrno error);
  int Refused(lockstep::Refusal refusal);
  bool HasConnection() const { return stack_ != nullptr && connected_or_opening_; }
  void TellClosed(lockstep::Cause cause);
  void PeerFinished();

  Ptr<LockstepHost> host_;
  Ptr<LockstepStack> stack_;  // of the connection
  lockstep::ConnectionId id_;
  lockstep::Endpoint local_;
  lockstep::Endpoint remote_;
  struct Ear {
    Ptr<LockstepStack> stack;
    lockstep::ListenerId id;
  };
  std::vector<Ear> ears_;
  enum SocketErrno errno_ = ERROR_NOTERROR;
  bool connected_or_opening_ = false;
  bool established_ = false;
  bool shut_send_ = false;
  bool shut_receive_ = false;
  bool peer_finished_ = false;
  bool close_told_ = false;
  bool finish_pending_ = false;  // finish() was refused because there was no room
  bool close_owed_ = false;
  bool watched_ = false;
  std::vector<std::byte> scratch_;

  LockstepTraced<std::uint32_t> cwnd_{*this};
  LockstepTraced<std::uint32_t> ssthresh_{*this};
  LockstepTraced<Time> rtt_{*this};
  LockstepTraced<Time> rto_{*this};
  LockstepTraced<std::uint32_t> in_flight_{*this};
  LockstepTraced<TcpSocket::TcpStates_t> state_{*this};
};

template <class T>
void LockstepTraced<T>::ConnectWithoutContext(const CallbackBase& callback) {
  TracedValue<T>::ConnectWithoutContext(callback);
  owner_.Watch();
}

template <class T>
void LockstepTraced<T>::Connect(const CallbackBase& callback, const std::string& path) {
  TracedValue<T>::Connect(callback, path);
  owner_.Watch();
}

}  // namespace ns3
