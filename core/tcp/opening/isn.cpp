// Initial sequence numbers (RFC 6528) and local ports (RFC 6056).
#include "core/tcp/opening/isn.hpp"

namespace lockstep::tcp {

// Both addresses are of the same version: an IPv4 pair is one word, an IPv6 pair four. The number
// of words is hashed too and distinguishes them.
std::uint32_t tuple_hash(HashKey key, const FourTuple& tuple, Port local) {
  SecretHash hash(key);
  IpAddress const& ours = tuple.local.address;
  IpAddress const& theirs = tuple.remote.address;
  if (theirs.is_v4()) {
    hash.add(std::uint64_t{ours.as_v4().value} << 32 | theirs.as_v4().value);
  } else {
    hash.add(ours.high).add(ours.low).add(theirs.high).add(theirs.low);
  }
  std::uint64_t const ports = std::uint64_t{local.value} << 16 | tuple.remote.port.value;
  return static_cast<std::uint32_t>(hash.finish({ports, 4}));
}

Sequence initial_sequence(const Config& config, const FourTuple& tuple, Instant now) {
  //= rfc9293#3.4.1
  //# 9293:MUST-8, 9293:SHLD-1 a 4 us clock plus F(four-tuple, secret)
  //# 9293:MUST-9 F is a keyed pseudo-random function
  //= rfc6528#3
  //# 6528:ISN-1 ISN = M + F(localip, localport, remoteip, remoteport, secretkey)
  //# 6528:ISN-2 which cannot be computed without the key
  //# 6528:ISN-6 M ticks every 4 us
  auto const clock = static_cast<std::uint32_t>(now.ns / 4'000);
  std::uint32_t const offset = tuple_hash(config.isn_key, tuple, tuple.local.port);
  return {clock + offset + config.isn_base.value};
}

//= rfc6056#3.3.3
//# 6056:PORT-5 an offset by keyed hash of the addresses and the remote port, plus a counter
PortOffset port_offset(const Config& config, const FourTuple& tuple) {
  return {tuple_hash(config.port_key, tuple, Port{})};
}

//= rfc6056#5
//# 6056:PORT-7 not algorithm 1: there is no list of unavailable ports
Port candidate_port(const Config& config, PortOffset offset, std::uint32_t drawn, Count attempt) {
  std::uint32_t const span = config.port_last.value - config.port_first.value + 1u;
  std::uint64_t const step = std::uint64_t{offset.value} + drawn + attempt.value;
  return {static_cast<std::uint16_t>(config.port_first.value + step % span)};
}

}  // namespace lockstep::tcp
