// Initial sequence numbers (RFC 6528) and local ports (RFC 6056).
#include "core/tcp/isn.hpp"

namespace lockstep::tcp {
namespace {

SecretHash hash_of(HashKey key, const FourTuple& tuple, bool with_local_port) {
  SecretHash hash(key);
  hash.add(tuple.local.address.high).add(tuple.local.address.low);
  hash.add(tuple.remote.address.high).add(tuple.remote.address.low);
  std::uint64_t const local_port = with_local_port ? tuple.local.port.value : 0;
  hash.add(local_port << 16 | tuple.remote.port.value);
  return hash;
}

}  // namespace

Sequence initial_sequence(const Config& config, const FourTuple& tuple, Instant now) {
  //= rfc9293#3.4.1
  //# 9293:MUST-8, 9293:SHLD-1 a 4 us clock plus F(four-tuple, secret)
  //# 9293:MUST-9 F is a keyed pseudo-random function
  //= rfc6528#3
  //# 6528:ISN-1 ISN = M + F(localip, localport, remoteip, remoteport, secretkey)
  //# 6528:ISN-2 which nobody can compute who does not know the key
  //# 6528:ISN-6 M ticks every 4 us
  auto const clock = static_cast<std::uint32_t>(now.ns / 4'000);
  auto const offset = static_cast<std::uint32_t>(hash_of(config.isn_key, tuple, true).finish());
  return {clock + offset + config.isn_base.value};
}

//= rfc6056#5
//# 6056:PORT-7 not algorithm 1: no list of unavailable ports is walked
Port candidate_port(const Config& config, const FourTuple& tuple, std::uint32_t drawn,
                    Count attempt) {
  //= rfc6056#3.3.3
  //# 6056:PORT-5 an offset by keyed hash of the addresses and the remote port, plus a counter
  auto const offset = static_cast<std::uint32_t>(hash_of(config.port_key, tuple, false).finish());
  std::uint32_t const span = config.port_last.value - config.port_first.value + 1u;
  std::uint64_t const step = std::uint64_t{offset} + drawn + attempt.value;
  return {static_cast<std::uint16_t>(config.port_first.value + step % span)};
}

}  // namespace lockstep::tcp
