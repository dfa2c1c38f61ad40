// The SYN cache (RFC 4987 3.5): half-open connections in compact records of their own.
#pragma once

#include "core/internet/icmp_input.hpp"
#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Keeps a SYN to a listener in the cache, without its data, FIN and URG, and answers it. False if
// the SYN may use Fast Open, or if there is no room. `pressed`: there is no full record for it,
// either; then the oldest record is evicted, unless a cookie can answer the SYN.
bool keep_half_open(Engine& e, Index listener, const InboundSegment& arrival, bool pressed);

// The half-open connection of this four-tuple, or nil.
Index find_half_open(const Engine& e, const FourTuple& tuple, std::uint16_t local_address);

// SEGMENT ARRIVES for a half-open connection: RFC 9293 3.10.7.4 in SYN-RECEIVED. An acceptable ACK
// of our SYN makes a connection of it; no other segment takes a full record.
Drop arrives_half_open(Engine& e, Index half_open, const InboundSegment& arrival);
// The timer of the cache: retransmits one SYN-ACK that is due, or gives its record up.
void expire_half_open(Engine& e);
// An ICMP error that quotes a SYN-ACK of the cache. A hard error ends the open. Drop::none,
// icmp_quote_unknown without such a record, or icmp_quote_outside.
Drop process_half_open_error(Engine& e, const internet::IcmpError& error,
                             std::uint16_t local_address);
// The listener closes: its records are deleted, and their peers get no reset.
void forget_half_opens(Engine& e, Index listener);

// The connection that the record stands for: in SYN-RECEIVED with our SYN sent, without an active
// part. It is not in the pool.
Connection view_of(const Engine& e, const HalfOpen& half_open);

// How many half-open connections of a listener get full records; further SYNs go into the cache.
std::uint32_t half_open_records(const Config& config, Count backlog);

}  // namespace lockstep::tcp
