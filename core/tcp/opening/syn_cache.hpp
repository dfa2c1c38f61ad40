// The SYN cache (RFC 4987 3.5): half-open connections in compact records of their own.
#pragma once

#include "core/internet/icmp_input.hpp"
#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// A SYN to a listener, answered without a full record: kept in the cache, without its data, FIN
// and URG. False if it may open fast, or if there is no room. `pressed`: there is no full record
// for it, either; then, where no cookie can take its place, the oldest gives way.
bool keep_half_open(Engine& e, Index listener, const InboundSegment& arrival, bool pressed);

// The half-open connection of this four-tuple, or nil.
Index find_half_open(const Engine& e, const FourTuple& tuple, std::uint16_t local_address);

// SEGMENT ARRIVES for a half-open connection: RFC 9293 3.10.7.4 as far as SYN-RECEIVED goes. What
// acknowledges our SYN makes a connection of it; all else takes no record.
Drop arrives_half_open(Engine& e, Index half_open, const InboundSegment& arrival);
// The timer of the cache: one that is due is retransmitted, or given up.
void expire_half_open(Engine& e);
// An ICMP error that quotes a SYN-ACK of the cache, a hard one ends the open; icmp_quote_unknown if
// there is no such one.
Drop process_half_open_error(Engine& e, const internet::IcmpError& error,
                             std::uint16_t local_address);
// The listener closes: those that it has go without a word, as LISTEN does.
void forget_half_opens(Engine& e, Index listener);

// The connection that it would be, in SYN-RECEIVED with our SYN sent: no record, no active part.
Connection view_of(const Engine& e, const HalfOpen& half_open);

// From how many half-open connections on a listener's plain SYNs go into the cache.
std::uint32_t half_open_records(const Config& config, Count backlog);

}  // namespace lockstep::tcp
