// TIME-WAIT in a compact record of its own.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The connection's last step: both FINs are acknowledged, or the peer's is about to be. The record
// takes its place in the table; what the application may still read stays with the connection.
void begin_time_wait(Engine& e, Connection& c);
// A segment for a TIME-WAIT record.
Drop arrives_time_wait(Engine& e, Index record, const InboundSegment& arrival);
// 2 MSL are over.
void expire_time_wait(Engine& e, Index record);
// A new SYN takes the record's place in the table; suspended, it can come back.
void suspend_time_wait(Engine& e, Index record);
// The SYN proved to be an old duplicate: the record stands in the table again.
void resume_time_wait(Engine& e, Index record);
// The SYN proved to be new: the record is over.
void forget_time_wait(Engine& e, Index record);

FourTuple tuple_of(const Engine& e, const TimeWait& record);

}  // namespace lockstep::tcp
