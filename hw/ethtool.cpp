// Each query is one ioctl.
#include "hw/ethtool.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
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

// An ethtool structure followed by elements, as the kernel lays them out.
template <class Head, class Element>
struct Listed {
  Listed(std::uint32_t command, std::size_t elements)
      : octets((sizeof(Head) + elements * sizeof(Element) + 7) / 8) {
    head().cmd = command;
  }
  Head& head() { return *reinterpret_cast<Head*>(octets.data()); }
  Element* elements() { return reinterpret_cast<Element*>(&head() + 1); }
  std::vector<std::uint64_t> octets;
};

// The number of features.
std::uint32_t feature_count(const std::string& name) {
  Listed<ethtool_sset_info, std::uint32_t> asked(ETHTOOL_GSSET_INFO, 1);
  asked.head().sset_mask = std::uint64_t{1} << ETH_SS_FEATURES;
  bool const known = ask(name, asked.head()) && asked.head().sset_mask != 0;
  return known ? *asked.elements() : 0;
}

using FeatureBlocks = Listed<ethtool_gfeatures, ethtool_get_features_block>;

FeatureBlocks blocks_of(const std::string& name, std::uint32_t count) {
  std::uint32_t const blocks = (count + 31) / 32;
  FeatureBlocks out(ETHTOOL_GFEATURES, blocks);
  out.head().size = blocks;
  if (!ask(name, out.head())) {
    out.head().size = 0;
  }
  return out;
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
  return ChannelCounts{channels.rx_count, channels.combined_count, channels.tx_count};
}

std::string channel_words(const ChannelCounts& now, std::uint32_t queues) {
  std::string const count = std::to_string(queues);
  if (now.combined != 0) {
    return "combined " + count + (now.receive != 0 ? " rx 0" : "") + (now.send != 0 ? " tx 0" : "");
  }
  return "rx " + count + (now.send < queues ? " tx " + count : "");
}

Offloads offloads_of(const std::string& name) {
  constexpr std::uint32_t any = ~std::uint32_t{0};
  return {ask_bits(name, ETHTOOL_GRXCSUM, any),
          ask_bits(name, ETHTOOL_GTXCSUM, any),
          ask_bits(name, ETHTOOL_GTSO, any),
          ask_bits(name, ETHTOOL_GGSO, any),
          ask_bits(name, ETHTOOL_GGRO, any),
          ask_bits(name, ETHTOOL_GFLAGS, ETH_FLAG_LRO),
          ask_bits(name, ETHTOOL_GFLAGS, ETH_FLAG_RXVLAN)};
}

std::vector<Feature> features_of(const std::string& name) {
  std::uint32_t const count = feature_count(name);
  using Name = std::array<char, ETH_GSTRING_LEN>;
  Listed<ethtool_gstrings, Name> names(ETHTOOL_GSTRINGS, count);
  names.head().string_set = ETH_SS_FEATURES;
  names.head().len = count;
  FeatureBlocks blocks = blocks_of(name, count);
  if (blocks.head().size == 0 || !ask(name, names.head())) {
    return {};
  }
  std::vector<Feature> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    ethtool_get_features_block const& block = blocks.elements()[i / 32];
    const char* const text = names.elements()[i].data();
    out.push_back({std::string(text, strnlen(text, ETH_GSTRING_LEN)),
                   (block.requested >> (i % 32) & 1) != 0, (block.active >> (i % 32) & 1) != 0});
  }
  return out;
}

bool want_features(const std::string& name, const std::vector<Feature>& features) {
  auto const count = static_cast<std::uint32_t>(features.size());
  FeatureBlocks now = blocks_of(name, count);
  Listed<ethtool_sfeatures, ethtool_set_features_block> wanted(ETHTOOL_SFEATURES, now.head().size);
  wanted.head().size = now.head().size;
  for (std::uint32_t i = 0; now.head().size != 0 && i < count; ++i) {
    std::uint32_t const bit = 1u << (i % 32);
    wanted.elements()[i / 32].valid |= now.elements()[i / 32].available & bit;
    wanted.elements()[i / 32].requested |= features[i].wanted ? bit : 0;
  }
  return now.head().size != 0 && ask(name, wanted.head());
}

}  // namespace lockstep::hw
