// The user's calls: RFC 9293 3.10.1 to 3.10.6.
#pragma once

#include "core/internet/icmp_input.hpp"
#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The caller has checked `local` and found its address: `local_address` is an index, or 0xffff for
// any of our addresses.
[[nodiscard]] Refusal listen(Engine& e, const Local& local, std::uint16_t local_address,
                             Backlog backlog, ListenerId& out);
// Applies `to`, except the limits on waiting connections, to connections opened from now on.
[[nodiscard]] Refusal change(Engine& e, ListenerId id, const Backlog& to);
[[nodiscard]] Refusal unlisten(Engine& e, ListenerId id);
void admit(Engine& e, ListenerId id, Count more);
// `open.local.address` is one of ours, at index `local_address`.
[[nodiscard]] Refusal connect(Engine& e, const Open& open, std::uint16_t local_address,
                              ConnectionId& out);
Taken write(Engine& e, ConnectionId id, std::span<const std::byte> bytes, More more);
Taken lend(Engine& e, ConnectionId id, Payload payload, More more);
[[nodiscard]] Refusal urgent(Engine& e, ConnectionId id);
[[nodiscard]] Refusal finish(Engine& e, ConnectionId id);
[[nodiscard]] Refusal close(Engine& e, ConnectionId id);
void abort(Engine& e, ConnectionId id);
[[nodiscard]] Refusal set(Engine& e, ConnectionId id, Setting setting);
Bytes writable(const Engine& e, ConnectionId id);

// An ICMP error about a segment of ours. Soft errors are reported, hard errors abort an open.
// `cause` is what the application is notified of.
Drop process_icmp_error(Engine& e, const internet::IcmpError& error, std::uint16_t local_address,
                        Cause cause);

}  // namespace lockstep::tcp
