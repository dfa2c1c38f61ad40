// Carries out what judge() decided about a segment that is not accepted.
#pragma once

#include "core/tcp/judge.hpp"
#include "core/tcp/opening/cookies.hpp"
#include "core/tcp/replies.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {

// Whether answers to such unacceptable segments have a limit: to those without data, SYN and FIN,
// and with Config's answer_interval also to SYNs.
inline bool is_limited(const Engine& e, const wire::Segment& s) {
  bool const syn = s.flags.syn() && e.config.answer_interval != Duration{};
  return s.length().empty() || syn;
}

// What act() needs of the record that a segment is for:
//   bool may_answer(Engine&), bool may_challenge(Engine&): the limits of core/tcp/challenge.hpp
//   void acknowledge(Engine&, const InboundSegment&, const wire::Segment&): sends or queues an ACK
//   void end(Engine&, Cause): the record goes
//   void end_by_reset(Engine&): it goes because of the peer's reset
//   Index cookie_listener(Engine&): the listener, if it may have answered the peer's SYN with a
//     cookie instead; else nil
//
// `s` is arrival.segment, without the SYN if judge() saw it so. Returns what to count.
template <class Record>
[[nodiscard]] Drop act(Engine& e, Record record, const InboundSegment& arrival,
                       const wire::Segment& s, Disposition disposition) {
  switch (disposition.action) {
    case Action::drop:
      break;
    case Action::acknowledge:
      //= rfc5961#7
      //# 5961:BLIND-7 those of empty segments within a limit: ACKs of ACKs might never end
      if (!is_limited(e, s) || record.may_answer(e)) {
        record.acknowledge(e, arrival, s);
      }
      break;
    case Action::challenge:
      if (record.may_challenge(e)) {
        record.acknowledge(e, arrival, s);
      }
      break;
    case Action::reset: {
      Index const listener = record.cookie_listener(e);
      if (listener != nil && cookies_are_out(e) && may_answer_cookie(e, arrival)) {
        // The ACK of a cookie that answered the peer's SYN before a later SYN got this record. The
        // peer knows only the cookie, so the record is of no use.
        if (proves_cookie(e, arrival)) {
          record.end(e, Cause::refused);
        }
        return arrives_cookie(e, listener, arrival);
      }
      reply_reset(e, arrival);
      break;
    }
    case Action::end_by_reset:
      record.end_by_reset(e);
      break;
    case Action::end_by_syn:
      record.end(e, Cause::refused);
      break;
    case Action::reset_and_end:
      reply_reset(e, arrival);
      record.end(e, Cause::reset);
      break;
    case Action::accept:
    case Action::accept_fin:
    case Action::accept_syn:
      CHECK(false);
  }
  return disposition.drop;
}

}  // namespace lockstep::tcp
