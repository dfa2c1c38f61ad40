// Netlink requests to the kernel, each answered by a list of messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/units/address.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {

// A sequence of attributes, each with its kind; a view of a message.
class NetlinkAttributes {
 public:
  explicit NetlinkAttributes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  // The value of the first attribute of this kind; nothing if there is none.
  std::optional<std::span<const std::byte>> find(std::uint16_t kind) const;
  // The value as a number in host byte order; nothing if its size differs.
  template <class Number>
  std::optional<Number> number(std::uint16_t kind) const;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

struct NetlinkQuestion {
  std::uint16_t type = 0;
  bool all = false;                // request a dump of all objects
  std::vector<std::byte> body;     // the family's header and attributes
  std::uint32_t header_bytes = 0;  // of each answer, before its attributes
  std::uint16_t flags = 0;         // NLM_F_CREATE and similar, for requests that change something
};

// A request that begins with this header of its family.
template <class Header>
NetlinkQuestion question_of(std::uint16_t type, const Header& header) {
  auto const octets = std::as_bytes(std::span(&header, 1));
  return {type, false, {octets.begin(), octets.end()}, sizeof header, 0};
}

class Netlink {
 public:
  // For NETLINK_ROUTE or NETLINK_GENERIC.
  explicit Netlink(int protocol);

  using OnAnswer =
      std::function<void(std::span<const std::byte> header, const NetlinkAttributes& attributes)>;
  // Calls `on_answer` for each answer. False: the request failed (see errno), or no answer came
  // within a second.
  bool ask(const NetlinkQuestion& question, const OnAnswer& on_answer);

 private:
  enum class Step : unsigned char { more, done, refused };
  Step read_answers(const NetlinkQuestion& question, const OnAnswer& on_answer);

  Descriptor socket_;
  std::uint32_t sequence_ = 0;
};

// Appends an attribute to the body of a request.
void put_attribute(std::vector<std::byte>& body, std::uint16_t kind,
                   std::span<const std::byte> value);

// The 4 or 16 octets of an address, in network byte order.
std::vector<std::byte> network_octets(const IpAddress& address);

// The XDP features of the interface's driver (linux/netdev.h); nothing if the kernel (before 6.3)
// does not report them.
std::optional<std::uint64_t> xdp_features_of(int interface_index);

}  // namespace lockstep::hw
