// TIME-WAIT in compact records, apart from those of connections.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Both FINs are acknowledged, or the peer's is about to be: the connection enters TIME-WAIT. A
// record replaces it in the table; unread data stays with the connection.
void begin_time_wait(Engine& e, Connection& c);
// SEGMENT ARRIVES in TIME-WAIT, RFC 9293 3.10.7.4.
Drop arrives_time_wait(Engine& e, Index record, const InboundSegment& arrival);
// 2 MSL are over.
void expire_time_wait(Engine& e, Index record);
// A new SYN opens a connection with the record's four-tuple: the record leaves the table, and is
// kept in case the SYN was an old duplicate.
void suspend_time_wait(Engine& e, Index record);
// The SYN was an old duplicate: the record returns to the table.
void resume_time_wait(Engine& e, Index record);
// The record ends: by its timer, by a reset, by eviction, or because the SYN was new.
void forget_time_wait(Engine& e, Index record);

FourTuple tuple_of(const Engine& e, const TimeWait& record);

}  // namespace lockstep::tcp
