// ns-3's NewReno and Cubic in which single rules can be set as in ours, to find the cause of a
// difference.
#pragma once

#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-cubic.h>

#include <cstdint>

namespace lockstep::tools {

/// TcpNewReno; identical to it if all attributes are off.
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
  bool count_octets_ = false;  ///< cwnd grows by acknowledged octets (RFC 5681 3.1, RFC 3465)
  bool flight_size_ = false;   ///< a loss halves FlightSize (RFC 5681 3.1), not the SACK pipe
  std::uint32_t acked_ = 0;    ///< octets counted towards the next segment
};

/// TcpCubic; identical to it if all attributes are off.
class RuledCubic : public ns3::TcpCubic {
 public:
  static ns3::TypeId GetTypeId();
  void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> state, std::uint32_t segments) override;
  std::uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state,
                            std::uint32_t in_flight) override;
  ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

 private:
  bool friendly_ = false;    ///< the Reno-friendly region (RFC 9438 4.3)
  double estimate_ = 0;      ///< W_est in octets; 0: not yet set in this epoch
  std::uint32_t prior_ = 0;  ///< cwnd before the last loss
};

}  // namespace lockstep::tools
