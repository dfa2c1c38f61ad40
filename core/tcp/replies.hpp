// Segments sent without a connection: resets, ACKs in TIME-WAIT, answers of the SYN cache.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Puts a segment without data into the reply queue; if that is full the segment is dropped and
// counted. Sets the protocol and length of the header. Returns whether the segment will be sent.
[[nodiscard]] bool reply(Engine& e, const internet::ReplyHeader& header,
                         const wire::Segment& segment);
// The reset for a segment that has no connection, or that acknowledges what was never sent:
// <SEQ=SEG.ACK><CTL=RST>, or <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>.
void reply_reset(Engine& e, const InboundSegment& arrival);
// The SYN-ACK for a SYN without a record: <SEQ=ISS><ACK=SEG.SEQ+1><CTL=SYN,ACK>, with our MSS. TTL
// and DSCP are the listener's. Returns whether it will be sent.
[[nodiscard]] bool reply_syn(Engine& e, const InboundSegment& arrival, const Listener& by,
                             Sequence iss, WireWindow window);
// Whether ABORT sends a reset.
bool aborts_with_reset(const Connection& c);
// <SEQ=SND.NXT><CTL=RST> of a connection that ends; at the right edge if the window has shrunk
// below SND.NXT.
void send_reset(Engine& e, Connection& c);
// The same with the sequence number given by the segment it answers.
void send_reset_at(Engine& e, Connection& c, Sequence sequence);
// <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK> from TIME-WAIT, or from a connection that enters it.
void send_time_wait_ack(Engine& e, const TimeWait& record);

}  // namespace lockstep::tcp
