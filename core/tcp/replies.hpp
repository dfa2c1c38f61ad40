// Segments that no connection sends: resets, the ACKs of TIME-WAIT, answers of the SYN cache.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// A segment without text goes into the reply queue; if that is full it is lost, as on the wire, and
// counted. Protocol and length of the header are filled in here.
void reply(Engine& e, const internet::ReplyHeader& header, const wire::Segment& segment);
// The reset that answers a segment without a connection, or one that acknowledges what was never
// sent: <SEQ=SEG.ACK><CTL=RST>, or <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>.
void reply_reset(Engine& e, const Arrival& arrival);
// The SYN-ACK of a SYN of which no record is kept: <SEQ=ISS><ACK=SEG.SEQ+1><CTL=SYN,ACK>, our MSS.
void reply_syn(Engine& e, const Arrival& arrival, Sequence iss, WireWindow window,
               std::uint16_t mss);
// <SEQ=SND.NXT><CTL=RST> of a connection that ends.
void send_reset(Engine& e, Connection& c);
// <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK> out of TIME-WAIT, or of a connection that enters it.
void send_time_wait_ack(Engine& e, const TimeWait& record);

}  // namespace lockstep::tcp
