// Frames in and out over the four rings; a system call only where the kernel wants one.
#include "hw/af_xdp/port.hpp"

#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <cerrno>

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"
#include "hw/af_xdp/left_out.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint32_t ethernet_bytes = 14;
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
  std::uint32_t const arriving = chunks / 2;
  CHECK(arriving != 0);
  CHECK(arriving <= device_.rings.fill.size);
  CHECK(chunks - arriving <= device_.rings.transmit.size);
  for (std::uint32_t i = 0; i < arriving; ++i) {
    fill_.put(std::uint64_t{i} * device_.chunk_bytes);
  }
  fill_.publish();
  free_.resize(chunks - arriving);
  while (free_count_ < free_.size()) {
    free_[free_count_] = chunks - 1 - free_count_;
    ++free_count_;
  }
}

XdpPort::~XdpPort() { flush(); }

std::span<const Ingress> XdpPort::receive() {
  reclaim();
  flush();
  taken_ = 0;
  while (lent_ < burst_frames_ && receive_.ready() != 0) {
    take(receive_.take());
  }
  receive_.release();
  if (lent_ == 0) {
    wake_for_room();
  }
  if (now_ >= look_at_ || (down_ && lent_ != 0)) {
    kick();
    look_at_ = now_ + between_looks;
  } else if (lent_ != 0) {
    look_at_ = now_ + between_looks;  // frames that arrive say that it is there
  }
  counters_.frames_in += taken_;
  return std::span(burst_).first(taken_);
}

void XdpPort::take(const XdpFrame& frame) {
  CHECK(frame.address < device_.frames.size());
  CHECK(frame.length <= device_.frames.size() - frame.address);
  chunks_[lent_] = frame.address / device_.chunk_bytes * device_.chunk_bytes;
  ++lent_;
  if (frame.length < ethernet_bytes) {
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

void XdpPort::reclaim() {
  for (std::uint32_t i = 0; i < lent_; ++i) {
    fill_.put(chunks_[i]);
  }
  fill_.publish();
  lent_ = 0;
}

void XdpPort::wake_for_room() {
  if (fill_.needs_wakeup()) {
    static_cast<void>(
        recvfrom(device_.socket.number(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr));
  }
}

std::span<std::byte> XdpPort::claim() {
  if (free_count_ == 0) {
    flush();
  }
  return free_count_ == 0 ? std::span<std::byte>{}
                          : chunk(std::uint64_t{free_[free_count_ - 1]} * device_.chunk_bytes)
                                .first(frame_max_);
}

void XdpPort::commit(const Egress& egress) {
  CHECK(free_count_ != 0);
  CHECK(egress.length <= frame_max_);
  if (down_) {
    ++counters_.link_down;
    return;
  }
  --free_count_;
  std::uint64_t const address = std::uint64_t{free_[free_count_]} * device_.chunk_bytes;
  finish_checksum(egress, chunk(address).first(egress.length));
  transmit_.put({address, egress.length, 0});
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
  // Where the device itself reads the ring it says when it sleeps. Else each call takes a few, and
  // one that takes none may have lost one, of which the next call tells.
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
    case EBUSY:  // one was taken, and lost on its way
      ++counters_.refused;
      ++lost_;
      return true;
    case ENETDOWN:
      down_ = true;
      return false;
    case ENXIO:
      gone_ = true;
      return false;
    default:  // no memory, most likely: nothing is lost
      return false;
  }
}

void XdpPort::take_back_sent() {
  for (std::uint32_t left = completion_.ready(); left != 0; --left) {
    auto const number = static_cast<std::uint32_t>(completion_.take() / device_.chunk_bytes);
    CHECK(free_count_ < free_.size());
    free_[free_count_] = number;
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
    counters_.missed = since.rx_dropped + since.rx_ring_full;  // the kernel counts from the begin
  }
  return counters_;
}

}  // namespace lockstep::hw
