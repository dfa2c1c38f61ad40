// Sends requests, receives responses, iterates over messages and attributes.
#include "hw/netlink.hpp"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace lockstep::hw {
namespace {

constexpr std::uint32_t aligned(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + 3) / 4 * 4);
}

template <class Value>
Value read_as(std::span<const std::byte> bytes) {
  Value value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

std::optional<std::span<const std::byte>> NetlinkAttributes::find(std::uint16_t kind) const {
  std::span<const std::byte> left = bytes_;
  while (left.size() >= sizeof(nlattr)) {
    auto const head = read_as<nlattr>(left);
    if (head.nla_len < sizeof(nlattr) || head.nla_len > left.size()) {
      return std::nullopt;
    }
    if ((head.nla_type & NLA_TYPE_MASK) == kind) {
      return left.subspan(sizeof(nlattr), head.nla_len - sizeof(nlattr));
    }
    left = left.subspan(std::min<std::size_t>(aligned(head.nla_len), left.size()));
  }
  return std::nullopt;
}

template <class Number>
std::optional<Number> NetlinkAttributes::number(std::uint16_t kind) const {
  auto const found = find(kind);
  if (!found || found->size() != sizeof(Number)) {
    return std::nullopt;
  }
  return read_as<Number>(*found);
}

template std::optional<std::uint8_t> NetlinkAttributes::number(std::uint16_t) const;
template std::optional<std::uint16_t> NetlinkAttributes::number(std::uint16_t) const;
template std::optional<std::uint32_t> NetlinkAttributes::number(std::uint16_t) const;
template std::optional<std::uint64_t> NetlinkAttributes::number(std::uint16_t) const;

void put_attribute(std::vector<std::byte>& body, std::uint16_t kind,
                   std::span<const std::byte> value) {
  body.resize(aligned(body.size()));
  nlattr const head{static_cast<std::uint16_t>(sizeof(nlattr) + value.size()), kind};
  auto const octets = bytes_of(head);
  body.insert(body.end(), octets.begin(), octets.end());
  body.insert(body.end(), value.begin(), value.end());
  body.resize(aligned(body.size()));
}

std::vector<std::byte> network_octets(const IpAddress& address) {
  std::vector<std::byte> out;
  for (std::uint32_t i = address.is_v4() ? 12 : 0; i < 16; ++i) {
    std::uint64_t const half = i < 8 ? address.high : address.low;
    out.push_back(static_cast<std::byte>(half >> (56 - 8 * (i % 8)) & 0xff));
  }
  return out;
}

Netlink::Netlink(int protocol) : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol)) {
  timeval const patience{1, 0};
  setsockopt(socket_.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

bool Netlink::ask(const NetlinkQuestion& question, const OnAnswer& on_answer) {
  ++sequence_;
  nlmsghdr head{};
  head.nlmsg_len = static_cast<std::uint32_t>(sizeof head + question.body.size());
  head.nlmsg_type = question.type;
  int const kind = question.all ? NLM_F_DUMP : NLM_F_ACK;
  head.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | kind | question.flags);
  head.nlmsg_seq = sequence_;
  std::vector<std::byte> message(bytes_of(head).begin(), bytes_of(head).end());
  message.insert(message.end(), question.body.begin(), question.body.end());
  if (send(socket_.number(), message.data(), message.size(), 0) < 0) {
    return false;
  }
  Step step = Step::more;
  while (step == Step::more) {
    step = read_answers(question, on_answer);
  }
  return step == Step::done;
}

Netlink::Step Netlink::read_answers(const NetlinkQuestion& question, const OnAnswer& on_answer) {
  std::array<std::byte, 65'536> buffer;
  ssize_t const got = recv(socket_.number(), buffer.data(), buffer.size(), 0);
  if (got <= 0) {
    return Step::refused;
  }
  auto left = std::span<const std::byte>(buffer).first(static_cast<std::size_t>(got));
  while (left.size() >= sizeof(nlmsghdr)) {
    auto const head = read_as<nlmsghdr>(left);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > left.size()) {
      return Step::refused;
    }
    auto const body = left.subspan(sizeof head, head.nlmsg_len - sizeof head);
    if (head.nlmsg_type == NLMSG_DONE) {
      return Step::done;
    }
    if (head.nlmsg_type == NLMSG_ERROR) {
      errno = -read_as<std::int32_t>(body);
      return errno == 0 ? Step::done : Step::refused;
    }
    if (head.nlmsg_seq == sequence_ && body.size() >= question.header_bytes) {
      on_answer(body.first(question.header_bytes),
                NetlinkAttributes(body.subspan(question.header_bytes)));
    }
    left = left.subspan(std::min<std::size_t>(aligned(head.nlmsg_len), left.size()));
  }
  return Step::more;
}

std::optional<std::uint64_t> xdp_features_of(int interface_index) {
  // From linux/netdev.h of kernel 6.3.
  constexpr std::uint8_t command_device_get = 1;
  constexpr std::uint16_t attribute_index = 1;
  constexpr std::uint16_t attribute_features = 3;
  constexpr std::string_view family_name = "netdev";
  Netlink netlink(NETLINK_GENERIC);
  auto const question = [](std::uint16_t family, std::uint8_t command) {
    genlmsghdr const head{command, 1, 0};
    return question_of(family, head);
  };
  NetlinkQuestion of_family = question(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
  // Including the terminating zero.
  put_attribute(of_family.body, CTRL_ATTR_FAMILY_NAME,
                std::as_bytes(std::span(family_name.data(), family_name.size() + 1)));
  std::optional<std::uint16_t> family;
  bool known = netlink.ask(of_family, [&](auto, const NetlinkAttributes& attributes) {
    family = attributes.number<std::uint16_t>(CTRL_ATTR_FAMILY_ID);
  });
  if (!known || !family) {
    return std::nullopt;
  }
  NetlinkQuestion of_device = question(*family, command_device_get);
  auto const index = static_cast<std::uint32_t>(interface_index);
  put_attribute(of_device.body, attribute_index, bytes_of(index));
  std::optional<std::uint64_t> features;
  netlink.ask(of_device, [&](auto, const NetlinkAttributes& attributes) {
    features = attributes.number<std::uint64_t>(attribute_features);
  });
  return features;
}

}  // namespace lockstep::hw
