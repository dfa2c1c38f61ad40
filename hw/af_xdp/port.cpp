// Receives and sends frames over the four rings; makes system calls only when the kernel needs one.
#include "hw/af_xdp/port.hpp"

#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/octets.hpp"
#include "hw/af_xdp/left_out.hpp"

namespace lockstep::hw {
namespace {

constexpr Duration between_looks = Duration::seconds(1);

static_assert(sizeof(XdpFrame) == sizeof(xdp_desc));

}  // namespace

XdpPort::XdpPort(XdpDevice device, const PortShape& shape)
    : BurstPort(shape),
      device_(std::move(device)),
      fill_(device_.rings.fill),
      receive_(device_.rings.receive),
      transmit_(device_.rings.transmit),
      completion_(device_.rings.completion) {
  CHECK(device_.headroom_bytes + frame_max_ <= device_.chunk_bytes);
  auto const chunks = static_cast<std::uint32_t>(device_.frames.size() / device_.chunk_bytes);
  arriving_ = chunks / 2;
  CHECK(arriving_ != 0);
  CHECK(arriving_ <= device_.rings.fill.size);
  CHECK(chunks - arriving_ <= device_.rings.transmit.size);
  with_kernel_.resize(chunks);
  for (std::uint32_t i = 0; i < arriving_; ++i) {
    fill_.put(address_of(i));
    with_kernel_[i] = true;
  }
  fill_.publish();
  free_.resize(chunks - arriving_);
  while (free_count_ < free_.size()) {
    free_[free_count_] = chunks - 1 - free_count_;
    ++free_count_;
  }
}

XdpPort::~XdpPort() { flush(); }

std::span<const Ingress> XdpPort::receive() {
  reclaim();
  taken_ = 0;
  std::uint32_t const kept = lent_;
  for (std::uint32_t left = std::min(receive_.ready(), burst_frames_ - kept); left != 0; --left) {
    take(receive_.take());
  }
  receive_.release();
  bool const came = lent_ != kept;
  if (!came) {
    wake_for_room();
  }
  if (now_ >= look_at_ || (down_ && came)) {
    kick();
    look_at_ = now_ + between_looks;
  } else if (came) {
    look_at_ = now_ + between_looks;  // received frames show that the interface exists
  }
  counters_.frames_in += taken_;
  return std::span(burst_).first(taken_);
}

bool XdpPort::take_from_kernel(std::uint64_t number) {
  if (number >= with_kernel_.size() || !with_kernel_[number]) {
    ++counters_.malformed;
    return false;
  }
  with_kernel_[number] = false;
  return true;
}

void XdpPort::take(const XdpFrame& frame) {
  std::uint64_t const number = frame.address / device_.chunk_bytes;
  if (number >= arriving_ || !take_from_kernel(number)) {
    counters_.malformed += number >= arriving_ ? 1 : 0;
    return;
  }
  chunks_[lent_] = static_cast<std::uint32_t>(number);
  ++lent_;
  auto const within = static_cast<std::uint32_t>(frame.address % device_.chunk_bytes);
  if (frame.length > device_.chunk_bytes - within) {
    ++counters_.malformed;
  } else if (frame.length < wire::ethernet_header_bytes) {
    ++counters_.too_short;
  } else if (frame.length > frame_max_) {
    ++counters_.too_long;
  } else {
    auto const bytes = device_.frames.subspan(frame.address, frame.length);
    bool const left_out = device_.mode.no_wire && checksum_is_left_out(bytes);
    counters_.left_out += left_out ? 1 : 0;
    burst_[taken_] = {bytes, left_out ? Checksum::good : Checksum::unknown, now_};
    ++taken_;
  }
}

// The kernel shows a received frame before it shows that its chunk has left the fill ring, so the
// fill ring can be full for a moment although it has an entry for each chunk. Chunks without room
// are kept for the next turn.
void XdpPort::reclaim() {
  std::uint32_t room = lent_ == 0 ? 0 : fill_.room();
  for (; lent_ != 0 && room != 0; --room) {
    --lent_;
    fill_.put(address_of(chunks_[lent_]));
    with_kernel_[chunks_[lent_]] = true;
  }
  fill_.publish();
}

void XdpPort::wake_for_room() {
  if (fill_.needs_wakeup()) {
    static_cast<void>(
        recvfrom(device_.socket.number(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr));
  }
}

std::span<std::byte> XdpPort::claim() {
  // A frame can be completed before its entry in the transmit ring becomes free.
  if (free_count_ == 0 || transmit_.room() == 0) {
    flush();
  }
  if (free_count_ == 0 || transmit_.room() == 0) {
    return {};
  }
  return chunk(free_[free_count_ - 1]).first(frame_max_);
}

void XdpPort::commit(const Egress& egress) {
  CHECK(free_count_ != 0);
  CHECK(egress.length <= frame_max_);
  if (down_) {
    ++counters_.link_down;
    return;
  }
  --free_count_;
  std::uint32_t const number = free_[free_count_];
  finish_checksum(egress, chunk(number).first(egress.length));
  transmit_.put({address_of(number), egress.length, 0});
  with_kernel_[number] = true;
}

void XdpPort::finish_checksum(const Egress& egress, std::span<std::byte> frame) const {
  if (egress.checksum_start == 0 && egress.checksum_offset == 0) {
    return;
  }
  CHECK(egress.checksum_start + egress.checksum_offset + 2u <= frame.size());
  auto const covered = frame.subspan(egress.checksum_start);
  wire::store16(&covered[egress.checksum_offset], wire::sum(covered).checksum());
}

void XdpPort::flush() {
  transmit_.publish();
  take_back_sent();
  // In zero-copy mode the device sets a flag when it needs a wake-up. In copy mode each call sends
  // a few frames; a call that sends none may have lost one, so another call follows.
  std::uint32_t idle = 0;
  while (transmit_.waiting() != 0 && !gone_ && idle < 2) {
    if (device_.mode.zero_copy && !transmit_.needs_wakeup()) {
      break;
    }
    std::uint32_t const before = transmit_.waiting();
    if (!kick()) {
      break;
    }
    idle = transmit_.waiting() == before ? idle + 1 : 0;
    if (device_.mode.zero_copy) {
      break;
    }
  }
  std::uint32_t const left = transmit_.waiting();
  counters_.blocked += left != 0 && !waiting_ && !device_.mode.zero_copy ? left : 0;
  waiting_ = left != 0;
  take_back_sent();
}

bool XdpPort::kick() {
  if (sendto(device_.socket.number(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0) {
    down_ = false;
    return true;
  }
  switch (errno) {
    case EAGAIN:
    case EINTR:
      down_ = false;
      return true;
    case EBUSY:  // the kernel took a frame and lost it
      ++counters_.refused;
      ++lost_;
      return true;
    case ENETDOWN:
      down_ = true;
      return false;
    case ENXIO:
      gone_ = true;
      return false;
    default:  // probably out of memory; no frame is lost
      return false;
  }
}

void XdpPort::take_back_sent() {
  for (std::uint32_t left = completion_.ready(); left != 0; --left) {
    std::uint64_t const number = completion_.take() / device_.chunk_bytes;
    if (number < arriving_ || !take_from_kernel(number)) {
      counters_.malformed += number < arriving_ ? 1 : 0;
      continue;
    }
    CHECK(free_count_ < free_.size());
    free_[free_count_] = static_cast<std::uint32_t>(number);
    ++free_count_;
    bool const lost = lost_ != 0;
    lost_ -= lost ? 1 : 0;
    counters_.frames_out += lost ? 0 : 1;
  }
  completion_.release();
}

const PortCounters& XdpPort::counters() {
  take_back_sent();
  xdp_statistics since{};
  socklen_t length = sizeof since;
  if (getsockopt(device_.socket.number(), SOL_XDP, XDP_STATISTICS, &since, &length) == 0) {
    // the kernel counts from the opening of the socket
    counters_.missed = since.rx_dropped + since.rx_ring_full;
  }
  return counters_;
}

}  // namespace lockstep::hw
