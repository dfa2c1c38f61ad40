// Receives and sends frames in batches, each frame after a virtio header of ten octets.
#include "hw/af_packet/port.hpp"

#include <linux/if_packet.h>
#include <sys/uio.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "core/units/check.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/octets.hpp"
#include "hw/virtio_header.hpp"

namespace lockstep::hw {
namespace {

// The header's words are in host byte order, but are read here as little-endian.
static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t header_bytes = VirtioHeader::short_bytes;
// A virtio header and 14 octets of Ethernet, or 18 with a tag, place the IP header at a multiple of
// two. A tag that is restored moves the octets before it towards the front.
constexpr std::uint32_t super_frame_bytes = 65'536 + AfPacketPort::link_bytes;
constexpr std::uint32_t rounded_up(std::uint32_t bytes) { return (bytes + 63) / 64 * 64; }
constexpr std::uint32_t read_slot_bytes =
    rounded_up(wire::vlan_tag_bytes + header_bytes + super_frame_bytes);

}  // namespace

struct AfPacketPort::Vectors {
  struct Control {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(tpacket_auxdata))> bytes;
  };
  std::array<mmsghdr, burst_max> in{};
  std::array<iovec, burst_max> in_bytes{};
  std::array<Control, burst_max> controls{};
  std::array<mmsghdr, burst_max> out{};
  std::array<iovec, burst_max> out_bytes{};
};

AfPacketPort::AfPacketPort(Descriptor socket, const PortShape& shape)
    : BurstPort(shape),
      socket_(std::move(socket)),
      slot_bytes_(rounded_up(header_bytes + frame_max_)),
      memory_(std::size_t{burst_frames_} * (read_slot_bytes + 2 * slot_bytes_)),
      vectors_(std::make_unique<Vectors>()) {}

AfPacketPort::~AfPacketPort() { flush(); }

std::span<std::byte> AfPacketPort::read_slot(std::uint32_t index) {
  return std::span(memory_).subspan(std::size_t{index} * read_slot_bytes, read_slot_bytes);
}

std::span<std::byte> AfPacketPort::out_slot(std::uint32_t index) {
  std::size_t const before = std::size_t{burst_frames_} * read_slot_bytes;
  return std::span(memory_).subspan(before + std::size_t{index} * slot_bytes_, slot_bytes_);
}

std::span<std::byte> AfPacketPort::piece_slot(std::uint32_t index) {
  return out_slot(burst_frames_ + index);
}

std::span<const Ingress> AfPacketPort::receive() {
  if (down_) {
    look_whether_gone();
  }
  taken_ = 0;
  // Segments of the current batch refer to its slots, which are reused only when all are taken.
  if (next_ == count_) {
    read_batch();
  }
  while (taken_ < burst_frames_ && next_ < count_) {
    take();
  }
  counters_.frames_in += taken_;
  return std::span(burst_).first(taken_);
}

void AfPacketPort::read_batch() {
  for (std::uint32_t i = 0; i < burst_frames_; ++i) {
    auto const slot = read_slot(i).subspan(wire::vlan_tag_bytes);
    vectors_->in_bytes[i] = {slot.data(), slot.size()};
    msghdr& message = vectors_->in[i].msg_hdr;
    message.msg_iov = &vectors_->in_bytes[i];
    message.msg_iovlen = 1;
    message.msg_control = vectors_->controls[i].bytes.data();
    message.msg_controllen = vectors_->controls[i].bytes.size();
  }
  int const got =
      recvmmsg(socket_.number(), vectors_->in.data(), burst_frames_, MSG_DONTWAIT, nullptr);
  next_ = 0;
  count_ = got < 0 ? 0 : static_cast<std::uint32_t>(got);
  if (got < 0 && errno != EAGAIN && errno != EINTR) {
    ++counters_.read_errors;
    down_ = down_ || errno == ENETDOWN;  // reported once for each time it goes down
  } else if (got > 0) {
    down_ = false;
  }
}

void AfPacketPort::take() {
  if (cutting_) {
    take_segments();
    return;
  }
  mmsghdr const& message = vectors_->in[next_];
  if (message.msg_len < header_bytes + wire::ethernet_header_bytes) {
    ++counters_.too_short;
    ++next_;
    return;
  }
  auto const slot = read_slot(next_);
  VirtioHeader const header = parse_virtio(slot.subspan(wire::vlan_tag_bytes));
  std::uint32_t const tag = put_tag_back(next_);
  auto const frame =
      slot.subspan(wire::vlan_tag_bytes + header_bytes - tag, message.msg_len - header_bytes + tag);
  std::uint32_t const kind = header.segmentation & ~std::uint32_t{VirtioHeader::segments_ecn};
  bool const tcp = kind == VirtioHeader::segments_tcp4 || kind == VirtioHeader::segments_tcp6;
  cutting_ =
      tcp && segments_.begin(frame, header.segment_bytes) && segments_.longest() <= frame_max_;
  if (cutting_) {
    ++counters_.taken_apart;
    take_segments();
    return;
  }
  if (header.segmentation != 0) {
    ++counters_.segmented;
  } else if (frame.size() > frame_max_) {
    ++counters_.too_long;
  } else {
    hand_out(frame, verdict_of(header));
  }
  ++next_;
}

void AfPacketPort::take_segments() {
  while (taken_ < burst_frames_) {
    auto const into = piece_slot(taken_);
    std::uint32_t const length = segments_.next(into);
    if (length == 0) {
      cutting_ = false;
      ++next_;
      return;
    }
    // The kernel of this machine made the frame, or has verified each segment in it.
    hand_out(into.first(length), Checksum::good);
  }
}

void AfPacketPort::hand_out(std::span<const std::byte> frame, Checksum verdict) {
  burst_[taken_] = {frame, verdict, now_};
  ++taken_;
}

std::uint32_t AfPacketPort::put_tag_back(std::uint32_t index) {
  msghdr& message = vectors_->in[index].msg_hdr;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_PACKET || each->cmsg_type != PACKET_AUXDATA) {
      continue;
    }
    tpacket_auxdata auxdata{};
    std::memcpy(&auxdata, CMSG_DATA(each), sizeof auxdata);
    if ((auxdata.tp_status & TP_STATUS_VLAN_VALID) == 0) {
      return 0;
    }
    bool const typed = (auxdata.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    std::byte* const frame = &read_slot(index)[wire::vlan_tag_bytes + header_bytes];
    std::memmove(frame - wire::vlan_tag_bytes, frame, 12);
    wire::store16(frame + 8, typed ? auxdata.tp_vlan_tpid : std::uint16_t{0x8100});
    wire::store16(frame + 10, auxdata.tp_vlan_tci);
    return wire::vlan_tag_bytes;
  }
  return 0;
}

std::span<std::byte> AfPacketPort::claim() {
  if (committed_ == burst_frames_ && !flush()) {
    return {};
  }
  return out_slot(committed_).subspan(header_bytes, frame_max_);
}

void AfPacketPort::commit(const Egress& egress) {
  CHECK(committed_ < burst_frames_);
  CHECK(egress.length <= frame_max_);
  auto const slot = out_slot(committed_);
  write_virtio(header_of(egress), slot.first(header_bytes));
  vectors_->out_bytes[committed_] = {slot.data(), header_bytes + egress.length};
  ++committed_;
}

void AfPacketPort::look_whether_gone() {
  sockaddr_ll local{};
  socklen_t length = sizeof local;
  gone_ = getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&local), &length) == 0 &&
          local.sll_family == AF_PACKET && local.sll_ifindex <= 0;
}

bool AfPacketPort::flush() {
  // The error may be a pending receive error that the kernel reports only now, so each failure is
  // retried once. Every two rounds send or lose at least one of at most burst_max frames.
  bool tried = false;
  while (first_ != committed_) {
    for (std::uint32_t i = first_; i < committed_; ++i) {
      vectors_->out[i].msg_hdr = {};
      vectors_->out[i].msg_hdr.msg_iov = &vectors_->out_bytes[i];
      vectors_->out[i].msg_hdr.msg_iovlen = 1;
    }
    int const sent =
        sendmmsg(socket_.number(), &vectors_->out[first_], committed_ - first_, MSG_DONTWAIT);
    if (sent > 0) {
      counters_.frames_out += static_cast<std::uint32_t>(sent);
      first_ += static_cast<std::uint32_t>(sent);
      down_ = false;
      tried = false;
    } else if (errno == EAGAIN || errno == EINTR) {
      counters_.blocked += waiting_ ? 0 : committed_ - first_;
      waiting_ = true;
      return false;
    } else if (!tried) {
      tried = true;
    } else {
      down_ = down_ || errno == ENETDOWN;
      gone_ = gone_ || errno == ENXIO;
      count_failed_write(errno, counters_);
      ++first_;
      tried = false;
    }
  }
  first_ = 0;
  committed_ = 0;
  waiting_ = false;
  return true;
}

const PortCounters& AfPacketPort::counters() {
  tpacket_stats since{};
  socklen_t length = sizeof since;
  if (getsockopt(socket_.number(), SOL_PACKET, PACKET_STATISTICS, &since, &length) == 0) {
    counters_.missed += since.tp_drops;  // the kernel resets its counter at each query
  }
  return counters_;
}

}  // namespace lockstep::hw
