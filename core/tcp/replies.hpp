// Segments that no connection sends: resets, the ACKs of TIME-WAIT, answers of the SYN cache.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// A segment without data goes into the reply queue; if that is full it is lost, as on the wire, and
// counted. Protocol and length of the header are filled in here.
void reply(Engine& e, const internet::ReplyHeader& header, const wire::Segment& segment);
// The reset that answers a segment without a connection, or one that acknowledges what was never
// sent: <SEQ=SEG.ACK><CTL=RST>, or <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>.
void reply_reset(Engine& e, const InboundSegment& arrival);
// The SYN-ACK of a SYN of which no record is kept: <SEQ=ISS><ACK=SEG.SEQ+1><CTL=SYN,ACK>, our MSS.
// TTL and Diffserv field are the listener's.
void reply_syn(Engine& e, const InboundSegment& arrival, const Listener& by, Sequence iss,
               WireWindow window);
// <SEQ=SND.NXT><CTL=RST> of a connection that ends; at the edge of a window that is shut or shrunk.
void send_reset(Engine& e, Connection& c);
// The same with another sequence number: that of an answer.
void send_reset_at(Engine& e, Connection& c, Sequence sequence);
// <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK> out of TIME-WAIT, or of a connection that enters it.
void send_time_wait_ack(Engine& e, const TimeWait& record);

}  // namespace lockstep::tcp
