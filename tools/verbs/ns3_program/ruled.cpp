// ns-3's NewReno and Cubic in which single rules can be set as in ours, to find the cause of a
// difference.
#include "tools/verbs/ns3_program/ruled.hpp"

#include <ns3/boolean.h>
#include <ns3/tcp-socket-state.h>

#include <algorithm>

namespace lockstep::tools {

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(RuledNewReno);
NS_OBJECT_ENSURE_REGISTERED(RuledCubic);

TypeId RuledNewReno::GetTypeId() {
  static TypeId const tid =
      TypeId("lockstep::RuledNewReno")
          .SetParent<TcpNewReno>()
          .AddConstructor<RuledNewReno>()
          .AddAttribute("CountOctets", "cwnd grows by what an ACK acknowledges.",
                        BooleanValue(false), MakeBooleanAccessor(&RuledNewReno::count_octets_),
                        MakeBooleanChecker())
          .AddAttribute("FlightSize", "A loss halves what is sent and not yet acknowledged.",
                        BooleanValue(false), MakeBooleanAccessor(&RuledNewReno::flight_size_),
                        MakeBooleanChecker());
  return tid;
}

std::uint32_t RuledNewReno::SlowStart(Ptr<TcpSocketState> state, std::uint32_t segments) {
  if (!count_octets_) {
    return TcpNewReno::SlowStart(state, segments);
  }
  state->m_cWnd += segments * state->m_segmentSize;
  return 0;
}

void RuledNewReno::CongestionAvoidance(Ptr<TcpSocketState> state, std::uint32_t segments) {
  if (!count_octets_) {
    TcpNewReno::CongestionAvoidance(state, segments);
    return;
  }
  acked_ += segments * state->m_segmentSize;
  if (acked_ >= state->m_cWnd.Get()) {
    acked_ -= state->m_cWnd.Get();
    state->m_cWnd += state->m_segmentSize;
  }
}

std::uint32_t RuledNewReno::GetSsThresh(Ptr<const TcpSocketState> state, std::uint32_t in_flight) {
  acked_ = 0;
  if (!flight_size_) {
    return TcpNewReno::GetSsThresh(state, in_flight);
  }
  auto const sent = static_cast<std::uint32_t>(state->m_highTxMark.Get() - state->m_lastAckedSeq);
  return std::max(2 * state->m_segmentSize, std::min(sent, state->m_cWnd.Get()) / 2);
}

Ptr<TcpCongestionOps> RuledNewReno::Fork() { return CopyObject<RuledNewReno>(this); }

TypeId RuledCubic::GetTypeId() {
  static TypeId const tid =
      TypeId("lockstep::RuledCubic")
          .SetParent<TcpCubic>()
          .AddConstructor<RuledCubic>()
          .AddAttribute("Friendly", "cwnd is at least what Reno would have.", BooleanValue(false),
                        MakeBooleanAccessor(&RuledCubic::friendly_), MakeBooleanChecker());
  return tid;
}

void RuledCubic::IncreaseWindow(Ptr<TcpSocketState> state, std::uint32_t segments) {
  bool const avoids = state->m_cWnd >= state->m_ssThresh;
  std::uint32_t const before = state->m_cWnd;
  TcpCubic::IncreaseWindow(state, segments);
  if (!friendly_ || !avoids || segments == 0) {
    return;
  }
  double const size = state->m_segmentSize;
  estimate_ = estimate_ > 0 ? estimate_ : before;
  double const alpha = estimate_ >= prior_ ? 1.0 : 9.0 / 17;
  estimate_ += alpha * segments * size * size / before;
  if (estimate_ > state->m_cWnd.Get()) {
    state->m_cWnd = static_cast<std::uint32_t>(estimate_);
  }
}

std::uint32_t RuledCubic::GetSsThresh(Ptr<const TcpSocketState> state, std::uint32_t in_flight) {
  estimate_ = 0;
  prior_ = state->m_cWnd;
  return TcpCubic::GetSsThresh(state, in_flight);
}

Ptr<TcpCongestionOps> RuledCubic::Fork() { return CopyObject<RuledCubic>(this); }

}  // namespace lockstep::tools
