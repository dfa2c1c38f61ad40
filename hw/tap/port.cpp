// Receives frames by read(2) and sends them by write(2), each after its virtio header.
#include "hw/tap/port.hpp"

#include <unistd.h>

#include <cerrno>

#include "core/units/check.hpp"
#include "hw/virtio_header.hpp"

namespace lockstep::hw {
namespace {

// Two octets more than the longest frame, so that a frame that fills its buffer was truncated. They
// also place the IP header, 12 + 14 octets from the start, at a multiple of two.
constexpr std::uint32_t spare_bytes = 2;

constexpr std::uint32_t rounded_up(std::uint32_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

TapPort::TapPort(Descriptor device, const PortShape& shape)
    : BurstPort(shape),
      device_(std::move(device)),
      slot_bytes_(rounded_up(VirtioHeader::bytes + frame_max_ + spare_bytes)),
      memory_(std::size_t{slot_bytes_} * (shape.burst_frames.value + 1)) {}

std::span<const Ingress> TapPort::receive() {
  taken_ = 0;
  // Lost frames count as reads of the burst, so the loop is bounded whatever the kernel delivers.
  for (std::uint32_t reads = 0; reads < burst_frames_ && read_one(taken_); ++reads) {
  }
  counters_.frames_in += taken_;
  return std::span(burst_).first(taken_);
}

bool TapPort::read_one(std::uint32_t index) {
  auto const into = buffer(index);
  ssize_t const got = read(device_.number(), into.data(), into.size());
  if (got < 0) {
    // EIO: the interface is down. EBADFD: it was deleted.
    counters_.read_errors += errno == EAGAIN || errno == EINTR ? 0 : 1;
    gone_ = gone_ || errno == EBADFD;
    return false;
  }
  auto const length = static_cast<std::uint32_t>(got);
  if (length <= VirtioHeader::bytes) {
    ++counters_.too_short;
    return true;
  }
  VirtioHeader const header = parse_virtio(into);
  if (length - VirtioHeader::bytes > frame_max_) {
    ++counters_.too_long;
  } else if (header.segmentation != 0) {
    ++counters_.segmented;
  } else {
    burst_[index] = {into.subspan(VirtioHeader::bytes, length - VirtioHeader::bytes),
                     verdict_of(header), now_};
    ++taken_;
  }
  return true;
}

std::span<std::byte> TapPort::claim() {
  if (pending_bytes_ != 0 && !push()) {
    return {};
  }
  return buffer(burst_frames_).subspan(VirtioHeader::bytes, frame_max_);
}

void TapPort::commit(const Egress& egress) {
  CHECK(pending_bytes_ == 0);
  CHECK(egress.length <= frame_max_);
  write_virtio(header_of(egress), buffer(burst_frames_).first(VirtioHeader::bytes));
  pending_bytes_ = VirtioHeader::bytes + egress.length;
  if (!push()) {
    ++counters_.blocked;
  }
}

void TapPort::flush() {
  if (holds()) {
    push();
  }
}

bool TapPort::push() {
  ssize_t const put = write(device_.number(), buffer(burst_frames_).data(), pending_bytes_);
  if (put < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (put < 0) {
    gone_ = gone_ || errno == EBADFD;
    count_failed_write(errno, counters_);
  } else {
    ++counters_.frames_out;
  }
  pending_bytes_ = 0;
  return true;
}

}  // namespace lockstep::hw
