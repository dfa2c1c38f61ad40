// Questions to the kernel over netlink, each answered by a list of messages.
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

// Attributes in a row, each with its kind; a view of a message.
class NetlinkAttributes {
 public:
  explicit NetlinkAttributes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  // What the first of this kind holds; nothing where there is none.
  std::optional<std::span<const std::byte>> find(std::uint16_t kind) const;
  // The same as a number of the machine's order; nothing too where it has another size.
  template <class Number>
  std::optional<Number> number(std::uint16_t kind) const;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

struct NetlinkQuestion {
  std::uint16_t type = 0;
  bool all = false;                // a list of all there are is wanted
  std::vector<std::byte> body;     // the header of the family, and attributes
  std::uint32_t header_bytes = 0;  // of each answer, before its attributes
  std::uint16_t flags = 0;         // NLM_F_CREATE and its like, of what changes something
};

// One that begins with this header of its family.
template <class Header>
NetlinkQuestion question_of(std::uint16_t type, const Header& header) {
  auto const octets = std::as_bytes(std::span(&header, 1));
  return {type, false, {octets.begin(), octets.end()}, sizeof header, 0};
}

class Netlink {
 public:
  // Of NETLINK_ROUTE or NETLINK_GENERIC.
  explicit Netlink(int protocol);

  using Told =
      std::function<void(std::span<const std::byte> header, const NetlinkAttributes& attributes)>;
  // Calls `told` for each answer. False: it is refused, as errno says, or no answer comes within a
  // second.
  bool ask(const NetlinkQuestion& question, const Told& told);

 private:
  enum class Step : unsigned char { more, done, refused };
  Step read_answers(const NetlinkQuestion& question, const Told& told);

  Descriptor socket_;
  std::uint32_t sequence_ = 0;
};

// Adds an attribute to the body of a question.
void put_attribute(std::vector<std::byte>& body, std::uint16_t kind,
                   std::span<const std::byte> value);

// The 4 or 16 octets of an address, in the network's order.
std::vector<std::byte> network_octets(const IpAddress& address);

// The features of XDP that the interface's driver names (linux/netdev.h); nothing where the kernel
// (before 6.3) does not say.
std::optional<std::uint64_t> xdp_features_of(int interface_index);

}  // namespace lockstep::hw
