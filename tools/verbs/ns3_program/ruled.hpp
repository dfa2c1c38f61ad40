// ns-3's NewReno and Cubic, each of whose rules can be made ours: what a difference hangs on.
#pragma once

#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-cubic.h>

#include <cstdint>

namespace lockstep::tools {

/// TcpNewReno; with every attribute off it does as that does.
class RuledNewReno : public ns3::TcpNewReno {
 public:
  static ns3::TypeId GetTypeId();
  std::uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state,
                            std::uint32_t in_flight) override;
  ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

 protected:
  std::uint32_t SlowStart(ns3::Ptr<ns3::TcpSocketState> state, std::uint32_t segments) override;
  void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> state, std::uint32_t segments) override;

 private:
  bool count_octets_ = false;  ///< growth by what is acknowledged (RFC 5681 3.1, RFC 3465)
  bool flight_size_ = false;   ///< halves FlightSize (RFC 5681 3.1), not what SACK leaves of it
  std::uint32_t acked_ = 0;    ///< octets towards the next segment
};

/// TcpCubic; with every attribute off it does as that does.
class RuledCubic : public ns3::TcpCubic {
 public:
  static ns3::TypeId GetTypeId();
  void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> state, std::uint32_t segments) override;
  std::uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state,
                            std::uint32_t in_flight) override;
  ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

 private:
  bool friendly_ = false;    ///< the Reno-friendly region (RFC 9438 4.3)
  double estimate_ = 0;      ///< W_est in octets; 0: none yet in this stage
  std::uint32_t prior_ = 0;  ///< cwnd before the last loss
};

}  // namespace lockstep::tools
