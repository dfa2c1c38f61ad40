// Rules for addresses, pools by the number of connections, keys.
#include "tools/lib/host/rules.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/units/random.hpp"

namespace lockstep::tools {

std::string_view unfit_address(const HostAddress& ours) {
  IpAddress const& address = ours.address;
  if (address.is_multicast() || address.is_unspecified()) {
    return address.is_multicast() ? "it is a multicast address" : "it is the unspecified address";
  }
  if (address.is_v4() && (address.as_v4().is_loopback() || address.as_v4().is_reserved())) {
    return address.as_v4().is_loopback() ? "it is a loopback address" : "it is reserved";
  }
  if (!address.is_v4() || ours.prefix_bits >= 31) {
    return {};
  }
  // RFC 1122 3.2.1.3: host bits that are all 0 or all 1 denote the network or a broadcast to it.
  std::uint32_t const host_bits = ~std::uint32_t{0} >> ours.prefix_bits;
  std::uint32_t const host = address.as_v4().value & host_bits;
  return host == 0           ? "it is the address of the network"
         : host == host_bits ? "it is the network's broadcast address"
                             : "";
}

bool same_network(const HostAddress& ours, const IpAddress& other) {
  std::uint32_t const before = ours.address.is_v4() ? 96 : 0;
  return ours.address.is_v4() == other.is_v4() &&
         common_bits({ours.address, other}) >= before + ours.prefix_bits;
}

void size_pools(tcp::Config& tcp, Count connections) {
  std::uint32_t const most = connections.value;
  tcp.connections_max = connections;
  tcp.accounts = true;
  tcp.active_max = connections;
  tcp.time_wait_max = Count{std::max(tcp.time_wait_max.value, most)};
  tcp.owed_max = Count{std::max(tcp.owed_max.value, most)};
  // A head and two lent pieces of a generated body.
  tcp.pieces_max = Count{std::max(tcp.pieces_max.value, most * 3)};
  // A request that is being read and a head that is being sent, one block each.
  tcp.blocks_max = Count{tcp.blocks_max.value + most * 2};
}

bool draw_secrets(const std::optional<std::uint64_t>& seed, Config& config) {
  std::array<std::uint64_t, 11> words{};
  if (seed) {
    Random random = Random(*seed).fork("keys");
    for (std::uint64_t& word : words) {
      word = random.next();
    }
  } else if (getrandom(words.data(), sizeof words, 0) != ssize_t{sizeof words}) {
    return false;
  }
  Entropy entropy;
  std::copy_n(words.begin(), entropy.size(), entropy.begin());
  draw_keys(config, entropy);
  if (config.mac == Mac{}) {
    config.mac.octets[0] = 2;
    for (std::uint32_t i = 1; i < 6; ++i) {
      config.mac.octets[i] = static_cast<std::uint8_t>(words[10] >> (8 * i));
    }
  }
  return true;
}

std::optional<std::uint64_t> parse_seed(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  auto const [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stopped == end ? std::optional(number) : std::nullopt;
}

}  // namespace lockstep::tools
