// Reads bursts from the notification ring, and posts batches to the eDMA ring with one fence for
// each.
#include "hw/mpipe/port.hpp"

#include <algorithm>
#include <cstring>

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint32_t ethernet_bytes = 14;
// The engine stores this much of a frame before forwarding it, and can insert a checksum only
// there.
constexpr std::uint32_t stored_bytes = 1'536;
constexpr std::uint32_t sum_start_most = 255;
constexpr std::uint16_t good_sum = 0xffff;
// The longest chain: the largest packet in the smallest buffers.
constexpr std::uint32_t chain_max = 16'384 / 120 + 1;

}  // namespace

MpipePort::MpipePort(Mpipe& engine, Worker worker, MpipeLink link)
    : engine_(engine),
      iqueue_(engine.iqueue(worker.value, link)),
      equeue_(engine.equeue(worker.value, link)),
      transmit_stack_(engine.transmit_stack(worker.value, link)),
      burst_frames_(engine.shape().burst_frames.value),
      batch_(engine.shape().batch.value),
      header_bytes_(engine.shape().bare_ip ? ethernet_bytes : 0),
      cycles_a_second_(tmc_perf_get_cpu_speed()) {
  CHECK(engine.is_open());
  CHECK(worker.value < engine.shape().workers.value);
  CHECK(link.value < engine.shape().link_count());
  CHECK(burst_frames_ >= 1 && burst_frames_ <= burst_max);
}

Instant MpipePort::now() {
  constexpr std::uint64_t second = 1'000'000'000;
  std::uint64_t const cycles = get_cycle_count();
  now_ = Instant{cycles / cycles_a_second_ * second +
                 cycles % cycles_a_second_ * second / cycles_a_second_};
  return now_;
}

bool MpipePort::more() const {
  gxio_mpipe_idesc_t* first = nullptr;
  return gxio_mpipe_iqueue_try_peek(&iqueue_, &first) > 0;
}

std::span<const Ingress> MpipePort::receive() {
  // A contiguous run ends at the end of the ring; the second run takes the rest.
  for (std::uint32_t run = 0; run < 2 && taken_ < burst_frames_; ++run) {
    gxio_mpipe_idesc_t* first = nullptr;
    int const available = gxio_mpipe_iqueue_try_peek(&iqueue_, &first);
    if (available <= 0) {
      break;
    }
    std::uint32_t const count = std::min(
        {static_cast<std::uint32_t>(available), burst_frames_ - taken_, room_to_ring_end()});
    for (std::uint32_t i = 0; i < count; ++i) {
      __builtin_prefetch(gxio_mpipe_idesc_get_va(&first[i]));
    }
    // Advance first: from then on the buffers are ours.
    gxio_mpipe_iqueue_advance(&iqueue_, static_cast<int>(count));
    uncredited_ += count;
    for (std::uint32_t i = 0; i < count; ++i) {
      take(first[i]);
    }
  }
  counters_.frames_in += taken_;
  return std::span(burst_).first(taken_);
}

// Hardware writes the tail, so it is limited to the ring's last entry.
std::uint32_t MpipePort::room_to_ring_end() const {
  return iqueue_.num_entries - std::min(iqueue_.head, iqueue_.num_entries);
}

void MpipePort::take(gxio_mpipe_idesc_t& idesc) {
  bool const whole = idesc.c == MPIPE_EDMA_DESC_WORD1__C_VAL_UNCHAINED;
  if (idesc.be) {
    ++counters_.cut_short;
  } else if (gxio_mpipe_idesc_has_error(&idesc) != 0) {
    ++counters_.damaged;
  } else if (!whole) {
    ++counters_.chained;
  } else {
    hand_out(idesc);
    return;
  }
  counters_.malformed += give_back(idesc) ? 0 : 1;
}

void MpipePort::hand_out(gxio_mpipe_idesc_t& idesc) {
  auto* const start = gxio_mpipe_idesc_get_l2_start(&idesc);
  std::uint32_t const length = gxio_mpipe_idesc_get_l2_length(&idesc);
  unsigned char* const buffer =
      engine_.buffer_around(static_cast<std::uint32_t>(idesc.stack_idx), start, length);
  if (buffer == nullptr) {
    ++counters_.malformed;
    static_cast<void>(give_back(idesc));
    return;
  }
  std::uint32_t const skip = std::min(header_bytes_, length);
  Checksum verdict = Checksum::unknown;
  if (idesc.cs) {
    bool const good = idesc.csum_seed_val == good_sum;
    verdict = good ? Checksum::good : Checksum::bad;
    ++(good ? counters_.sums_good : counters_.sums_bad);
  }
  Instant arrived = now_;
  if (engine_.shape().stamps) {
    arrived = Instant{std::uint64_t{idesc.time_stamp_sec} * 1'000'000'000 +
                      std::uint64_t{idesc.time_stamp_ns}};
  }
  lent_[taken_] = {buffer, static_cast<std::uint8_t>(idesc.stack_idx)};
  burst_[taken_] = {
      {reinterpret_cast<const std::byte*>(start) + skip, length - skip}, verdict, arrived};
  ++taken_;
}

// Returns every buffer of a descriptor, including chained ones.
bool MpipePort::give_back(const gxio_mpipe_idesc_t& idesc) {
  gxio_mpipe_idesc_t link = idesc;
  for (std::uint32_t i = 0; i < chain_max; ++i) {
    if (link.c == MPIPE_EDMA_DESC_WORD1__C_VAL_INVALID) {
      return true;
    }
    bool const last = link.c != MPIPE_EDMA_DESC_WORD1__C_VAL_CHAINED;
    auto const stack = static_cast<unsigned>(link.stack_idx);
    unsigned char* const base =
        engine_.buffer_around(stack, mpipe::next_of_chain(link.words[7]), 1);
    if (base == nullptr) {
      return false;
    }
    // The first octets of a buffer name the next one, and are overwritten once it is pushed.
    std::memcpy(&link.words[7], base, sizeof link.words[7]);
    gxio_mpipe_push_buffer(&engine_.context(), stack, base);
    if (last) {
      return true;
    }
  }
  return false;
}

void MpipePort::reclaim() {
  for (std::uint32_t i = 0; i < taken_; ++i) {
    gxio_mpipe_push_buffer(&engine_.context(), lent_[i].stack, lent_[i].buffer);
  }
  taken_ = 0;
  if (uncredited_ != 0) {
    // With static affinity the bucket's count is not used.
    gxio_mpipe_credit(&engine_.context(), iqueue_.ring, -1, uncredited_);
    uncredited_ = 0;
  }
}

std::span<std::byte> MpipePort::claim() {
  if (unposted_ == batch_ && !flush()) {
    return {};
  }
  for (std::uint32_t tries = 0; tries < 2 && claimed_ == nullptr; ++tries) {
    gxio_mpipe_bdesc_t const popped =
        gxio_mpipe_pop_buffer_bdesc(&engine_.context(), transmit_stack_);
    if (popped.c == MPIPE_EDMA_DESC_WORD1__C_VAL_UNCHAINED) {
      unsigned char* const got = mpipe::buffer_of(popped);
      claimed_ = engine_.buffer_around(transmit_stack_, got, 1);
      counters_.malformed += claimed_ == nullptr ? 1 : 0;
    } else if (tries == 0 && !flush()) {
      break;  // What waits here for room in the ring cannot complete.
    }
  }
  if (claimed_ == nullptr) {
    ++counters_.no_buffer;
    return {};
  }
  auto* const room = reinterpret_cast<std::byte*>(claimed_) + header_bytes_;
  std::uint32_t const frame =
      engine_.shape().bare_ip ? engine_.shape().mtu.count : engine_.shape().frame_bytes();
  return {room, frame};
}

void MpipePort::commit(const Egress& egress) {
  CHECK(claimed_ != nullptr);
  CHECK(unposted_ < batch_);
  CHECK(egress.length != 0);
  if (header_bytes_ != 0) {
    put_header(claimed_, claimed_[header_bytes_] >> 4 == 6);
  }
  Committed& frame = committed_[unposted_++];
  frame = {claimed_, egress};
  claimed_ = nullptr;
  std::uint32_t const length = egress.length + header_bytes_;
  std::uint32_t const start = egress.checksum_start + header_bytes_;
  std::uint32_t const at = start + egress.checksum_offset;
  if (egress.checksum_offset != 0 &&
      (length > stored_bytes || start > sum_start_most || at > sum_start_most)) {
    auto* const bytes = reinterpret_cast<std::byte*>(frame.buffer);
    wire::store16(bytes + at, wire::sum({bytes + start, length - start}).checksum());
    frame.egress.checksum_offset = 0;
    ++counters_.sums_here;
  }
  ++counters_.frames_out;
  if (unposted_ == batch_) {
    flush();
  }
}

void MpipePort::put_header(unsigned char* frame, bool six) const {
  std::memcpy(frame, engine_.shape().peer.octets.data(), 6);
  std::memcpy(frame + 6, engine_.shape().own.octets.data(), 6);
  wire::store16(reinterpret_cast<std::byte*>(frame) + 12,
                six ? std::uint16_t{0x86dd} : std::uint16_t{0x0800});
}

gxio_mpipe_edesc_t MpipePort::describe(const Committed& frame) {
  gxio_mpipe_edesc_t edesc{};
  edesc.bound = 1;
  edesc.xfer_size = (frame.egress.length + header_bytes_) & 0x3fff;
  gxio_mpipe_edesc_set_va(&edesc, frame.buffer);
  edesc.stack_idx = transmit_stack_ & 0x1f;
  edesc.hwb = 1;
  edesc.size = static_cast<unsigned>(
                   gxio_mpipe_buffer_size_to_buffer_size_enum(engine_.transmit_buffer_bytes())) &
               7;
  if (frame.egress.checksum_offset != 0) {
    // The field holds the pseudo-header's sum, so the seed is zero.
    edesc.csum = 1;
    edesc.csum_start = (frame.egress.checksum_start + header_bytes_) & 0xff;
    edesc.csum_dest =
        (frame.egress.checksum_start + frame.egress.checksum_offset + header_bytes_) & 0xff;
    ++counters_.sums_left;
  }
  return edesc;
}

bool MpipePort::flush() {
  if (unposted_ == 0) {
    return true;
  }
  std::int64_t const slot = gxio_mpipe_equeue_try_reserve_fast(&equeue_, unposted_);
  if (slot < 0) {
    ++counters_.no_credit;
    return false;
  }
  // Makes the frames visible to the engine before any descriptor that names one.
  __insn_mf();
  for (std::uint32_t i = 0; i < unposted_; ++i) {
    gxio_mpipe_equeue_put_at(&equeue_, describe(committed_[i]),
                             static_cast<unsigned long>(slot) + i);
  }
  ++counters_.batches;
  unposted_ = 0;
  return true;
}

MpipePort::State MpipePort::state(const std::byte* memory) const {
  CHECK(unposted_ == 0 && taken_ == 0);
  State out{
      iqueue_.head, equeue_.credits_and_next_index, equeue_.hw_complete_count, -1, last_slot_, now_,
      counters_};
  if (claimed_ != nullptr) {
    out.claimed = reinterpret_cast<const std::byte*>(claimed_) - memory;
  }
  return out;
}

void MpipePort::set_state(const State& state, std::byte* memory) {
  iqueue_.head = state.head;
  equeue_.credits_and_next_index = state.credits_and_next_index;
  equeue_.hw_complete_count = state.hw_complete_count;
  claimed_ = state.claimed < 0 ? nullptr : reinterpret_cast<unsigned char*>(memory + state.claimed);
  last_slot_ = state.last_slot;
  now_ = state.now;
  counters_ = state.counters;
}

bool MpipePort::drained() {
  receive();
  bool const silent = taken_ == 0 && uncredited_ == 0;
  reclaim();
  if (!silent || !flush()) {
    return false;
  }
  if (claimed_ != nullptr) {
    gxio_mpipe_push_buffer(&engine_.context(), transmit_stack_, claimed_);
    claimed_ = nullptr;
  }
  if (last_slot_ < 0) {
    last_slot_ = gxio_mpipe_equeue_try_reserve(&equeue_, 1);
    if (last_slot_ < 0) {
      return false;
    }
    gxio_mpipe_edesc_t null{};
    null.ns = 1;
    null.bound = 1;
    gxio_mpipe_equeue_put_at(&equeue_, null, static_cast<unsigned long>(last_slot_));
  }
  return gxio_mpipe_equeue_is_complete(&equeue_, last_slot_, 1) != 0;
}

}  // namespace lockstep::hw
