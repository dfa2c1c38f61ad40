// One ioctl a question.
#include "hw/ethtool.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {
namespace {

template <class Question>
bool ask(const std::string& name, Question& question) {
  Descriptor const asking(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), std::size_t{IFNAMSIZ - 1}));
  request.ifr_data = reinterpret_cast<char*>(&question);
  return ioctl(asking.number(), SIOCETHTOOL, &request) == 0;
}

std::optional<bool> ask_bits(const std::string& name, std::uint32_t command, std::uint32_t bits) {
  ethtool_value value{};
  value.cmd = command;
  if (!ask(name, value)) {
    return std::nullopt;
  }
  return (value.data & bits) != 0;
}

}  // namespace

std::string driver_of(const std::string& name) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  return ask(name, info) ? std::string(info.driver, strnlen(info.driver, sizeof info.driver))
                         : std::string();
}

std::optional<ChannelCounts> channels_of(const std::string& name) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  if (!ask(name, channels)) {
    return std::nullopt;
  }
  return ChannelCounts{channels.rx_count, channels.combined_count};
}

Offloads offloads_of(const std::string& name) {
  constexpr std::uint32_t any = ~std::uint32_t{0};
  return {ask_bits(name, ETHTOOL_GRXCSUM, any), ask_bits(name, ETHTOOL_GTXCSUM, any),
          ask_bits(name, ETHTOOL_GTSO, any),    ask_bits(name, ETHTOOL_GGSO, any),
          ask_bits(name, ETHTOOL_GGRO, any),    ask_bits(name, ETHTOOL_GFLAGS, ETH_FLAG_LRO),
          ask_bits(name, ETHTOOL_GFLAGS, ETH_FLAG_RXVLAN)};
}

}  // namespace lockstep::hw
