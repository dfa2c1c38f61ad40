// The ring of queued replies.
#include "core/internet/replies.hpp"

#include <cstring>

#include "core/units/check.hpp"

namespace lockstep::internet {

std::uint32_t Replies::padded(std::uint32_t length) {
  return static_cast<std::uint32_t>((sizeof(ReplyHeader) + length + 7) & ~std::uint64_t{7});
}

Replies Replies::lay_out(memory::Layout& layout, Bytes capacity) {
  Replies replies;
  replies.state_ = layout.place<State>(Count{1}).data();
  replies.capacity_ = capacity.count & ~7u;
  replies.bytes_ = layout.place_bytes(replies.capacity_);
  return replies;
}

std::span<std::byte> Replies::push(const ReplyHeader& header) {
  State& s = *state_;
  std::uint32_t const need = padded(header.length);
  if (s.count == 0) {
    s.begin = s.end = s.wrap = 0;
  }
  bool const wrapped = s.count != 0 && s.end <= s.begin;
  if (wrapped) {
    if (s.begin - s.end < need) {
      return {};
    }
  } else if (capacity_ - s.end < need) {
    if (s.begin < need) {
      return {};
    }
    s.wrap = s.end;
    s.end = 0;
  }
  std::memcpy(bytes_ + s.end, &header, sizeof header);
  std::byte* const room = bytes_ + s.end + sizeof header;
  s.end += need;
  ++s.count;
  return {room, header.length};
}

ReplyHeader Replies::front() const {
  CHECK(state_->count != 0);
  ReplyHeader header;
  std::memcpy(&header, bytes_ + state_->begin, sizeof header);
  return header;
}

std::uint16_t Replies::front_length() const {
  CHECK(state_->count != 0);
  std::uint16_t length;
  std::memcpy(&length, bytes_ + state_->begin + offsetof(ReplyHeader, length), sizeof length);
  return length;
}

std::span<const std::byte> Replies::front_bytes() const {
  return {bytes_ + state_->begin + sizeof(ReplyHeader), front_length()};
}

void Replies::pop() {
  State& s = *state_;
  s.begin += padded(front_length());
  --s.count;
  if (s.count != 0 && s.begin > s.end && s.begin == s.wrap) {
    s.begin = 0;
  }
}

}  // namespace lockstep::internet
