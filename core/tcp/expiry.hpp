// What the timers of a connection do: retransmission, persist, override, delayed ACK, giving up.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The connection's node of the wheel fired: runs those of its timers that are due, in fixed order,
// and sets the node for the next.
void expire_connection(Engine& e, Connection& c);

// Gives up this long from now unless the peer answers: the user timeout, or R2 of a SYN.
void set_give_up(const Engine& e, const Connection& c, InFlightState& a);
// How long the next zero-window probe waits.
Duration probe_interval(const Engine& e, const Connection& c);
// R2 of a SYN or SYN-ACK, beside a user timeout (0: for ever).
Duration syn_limit(const Engine& e, std::uint32_t user_timeout_ms);
// An acceptable segment came, perhaps while a zero window or the peer is probed: it is there.
void heard_while_probing(Engine& e, Connection& c);
// Whether keep-alives have their place: data of the peer's or ours may still be expected.
bool is_watched(const Connection& c);
// Keep-alive begins, if it is on.
void begin_keepalive(Engine& e, Connection& c);
// FIN-WAIT-2 is bounded, by Config::fin_wait_2, if the application reads no more.
void bound_fin_wait_2(Engine& e, Connection& c);

}  // namespace lockstep::tcp
