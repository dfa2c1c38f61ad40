// Queued replies that belong to no connection (resets, ICMP, echo): a bounded ring of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/memory/arena.hpp"
#include "core/units/address.hpp"
#include "core/units/bytes.hpp"

namespace lockstep::internet {

// The header fields of a reply.
struct ReplyHeader {
  IpAddress source;
  IpAddress destination;
  std::uint8_t protocol = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t time_to_live = 64;
  bool has_mac = false;   // `mac` is valid: the reply goes to the sender of the request
  bool doubtful = false;  // earlier replies were not answered: verify the next hop
  Mac mac;
  std::uint16_t length = 0;  // of the transport octets
};

// First in, first out. A reply is a header and its bytes, padded to 8, contiguous in the ring.
class Replies {
 public:
  struct State {
    std::uint32_t begin = 0;  // start of the oldest
    std::uint32_t end = 0;    // start of the next one
    std::uint32_t wrap = 0;   // end of the used bytes if begin > end
    std::uint32_t count = 0;
  };

  Replies() = default;
  static Replies lay_out(memory::Layout& layout, Bytes capacity);
  void start() { *state_ = State{}; }

  // Space for the transport bytes of a reply, to be filled at once; empty if there is none.
  std::span<std::byte> push(const ReplyHeader& header);
  bool empty() const { return state_->count == 0; }
  std::uint32_t count() const { return state_->count; }
  // The oldest reply; only if not empty.
  ReplyHeader front() const;
  std::span<const std::byte> front_bytes() const;
  void pop();
  // Calls visit(header, bytes) for each reply, oldest first.
  template <class Visit>
  void visit(Visit&& visit) const {
    Replies rest = *this;
    State walked = *state_;
    for (rest.state_ = &walked; !rest.empty(); rest.pop()) {
      visit(rest.front(), rest.front_bytes());
    }
  }

 private:
  std::uint16_t front_length() const;
  static std::uint32_t padded(std::uint32_t length);

  State* state_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::uint32_t capacity_ = 0;
};

}  // namespace lockstep::internet
