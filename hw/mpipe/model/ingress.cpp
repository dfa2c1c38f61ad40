// Receives frames: MAC, classifier, load balancer, buffers, descriptor, tail.
#include <algorithm>
#include <cstring>

#include "hw/mpipe/model/machine.hpp"

namespace lockstep::hw::mpipe {
namespace {

constexpr std::uint32_t chain_word_bytes = 8;
constexpr std::uint8_t next_larger = 255;

bool same_mac(const gxio_mpipe_rules_dmac_t& mac, std::span<const std::byte> frame) {
  return frame.size() >= 6 && std::memcmp(mac.octets, frame.data(), 6) == 0;
}

// Word 7 of a descriptor, which is also at the start of each buffer of a chain.
gxio_mpipe_idesc_t buffer_word(Offset at, std::uint32_t stack, int size) {
  gxio_mpipe_idesc_t out{};
  set_va(out, Memory::bus_of(at));
  out.stack_idx = stack & 0x1f;
  out.hwb = 1;
  out.size = static_cast<unsigned>(size) & 7;
  return out;
}

void describe(const Classified& seen, gxio_mpipe_idesc_t& idesc) {
  idesc.cs = seen.summed ? 1 : 0;
  idesc.csum_start = seen.sum_start;
  idesc.csum_seed_val = seen.sum;
  idesc.custom0 = seen.hash;
  idesc.custom1 = std::uint64_t{seen.vlan} | std::uint64_t{seen.ethertype} << 16 |
                  std::uint64_t{seen.l2_offset} << 32 | std::uint64_t{seen.l3_offset} << 40 |
                  std::uint64_t{seen.l4_offset} << 48 | std::uint64_t{seen.status} << 56;
}

}  // namespace

Arrived Machine::arrive(std::span<const std::byte> frame, std::uint32_t channel) {
  std::uint32_t const most = link_table[channel].jumbo ? jumbo_frame_max : frame_max;
  if (!link_up_[channel] || !link_table[channel].open || frame.empty() || frame.size() > most) {
    ++stats_.ingress_drops;
    return Arrived::lost;
  }
  gxio_mpipe_idesc_t idesc{};
  auto data = frame;
  if (chance(errors_.truncated) && data.size() > 1) {
    data = data.first(data.size() / 2);
    idesc.tr = 1;
  }
  idesc.ce = chance(errors_.bad_sum) ? 1 : 0;
  Classified const seen = classify(data, hash_seed_);
  // A frame whose error is detected in time is dropped; one that was cut through gets a descriptor
  // with the error.
  bool const erred = idesc.tr != 0 || idesc.ce != 0;
  idesc.ct = erred && (random_.next() & 1) != 0 ? 1 : 0;
  const gxio_mpipe_model_rule_t* const rule = rule_for(seen, data, channel);
  if (rule == nullptr || (erred && idesc.ct == 0)) {
    ++stats_.ingress_drops;
    return erred ? Arrived::lost : Arrived::filtered;
  }
  auto const length = static_cast<std::uint32_t>(data.size());
  std::uint32_t const stack = stack_for(*rule, length);
  if (stack == stacks) {
    ++stats_.ingress_drops;
    return Arrived::filtered;
  }
  std::uint32_t const bucket = rule->first_bucket + (seen.hash & rule->bucket_mask);
  std::uint32_t const ring = ring_for(bucket_table[bucket]);
  if (full(ring) || chance(errors_.ring_full)) {
    ++stats_.ingress_drops_cls_lb;
    return Arrived::ring_full;
  }
  if (chance(errors_.no_buffer) || !write_packet(data, stack, rule->headroom, idesc)) {
    ++stats_.ingress_drops_no_buf;
    return Arrived::no_buffer;
  }
  idesc.notif_ring = ring & 0xff;
  idesc.channel = channel & 0x1f;
  idesc.l2_size = length & 0x3fff;
  idesc.bucket_id = bucket & 0x1fff;
  idesc.dest = 1;
  idesc.sq = idesc.ts = idesc.ps = 1;
  idesc.packet_sqn = packets_++ & 0xffff'ffff'ffff;
  idesc.time_stamp_ns = static_cast<std::uint32_t>(times_.local.ns % 1'000'000'000);
  idesc.time_stamp_sec = static_cast<std::uint32_t>(times_.local.ns / 1'000'000'000);
  describe(seen, idesc);
  ++bucket_table[bucket].count;
  deliver(ring, idesc);
  ++stats_.ingress_packets;
  stats_.ingress_bytes += length;
  return Arrived::taken;
}

const gxio_mpipe_model_rule_t* Machine::rule_for(const Classified& seen,
                                                 std::span<const std::byte> frame,
                                                 std::uint32_t channel) const {
  const gxio_mpipe_model_rule_t* found = nullptr;
  for (const gxio_mpipe_model_rule_t& rule : rules) {
    bool fits = rule.channels == 0 || (rule.channels >> channel & 1) != 0;
    bool mac_fits = rule.dmac_count == 0;
    for (std::uint32_t i = 0; i < rule.dmac_count; ++i) {
      mac_fits = mac_fits || same_mac(rule.dmacs[i], frame);
    }
    bool vlan_fits = rule.vlan_count == 0;
    for (std::uint32_t i = 0; i < rule.vlan_count; ++i) {
      vlan_fits = vlan_fits || rule.vlans[i] == seen.vlan;
    }
    fits = fits && mac_fits && vlan_fits;
    if (fits && (found == nullptr || rule.priority < found->priority)) {
      found = &rule;
    }
  }
  return found;
}

std::uint32_t Machine::stack_for(const gxio_mpipe_model_rule_t& rule, std::uint32_t bytes) const {
  std::uint32_t const needed = bytes + rule.headroom + rule.tailroom;
  if (needed > rule.capacity) {
    return stacks;
  }
  // A class without a stack uses the next larger one.
  for (int size = 0; size < 8; ++size) {
    auto const index = static_cast<std::uint32_t>(size);
    std::size_t const room =
        gxio_mpipe_buffer_size_enum_to_buffer_size(gxio_mpipe_buffer_size_enum_t(size));
    if ((needed <= room || size == 7) && rule.stacks[index] != next_larger) {
      return rule.stacks[index];
    }
  }
  return stacks;
}

bool Machine::full(std::uint32_t ring) const {
  return ring_table[ring].count >= ring_table[ring].entries - 2;
}

std::uint32_t Machine::least_full(const NotifGroup& group) const {
  std::uint32_t best = rings;
  std::uint32_t best_eighths = 0;
  for (std::uint32_t i = 0; i < rings; ++i) {
    if ((group.bits.ring_mask[i / 64] >> (i % 64) & 1) == 0 || !ring_table[i].ready) {
      continue;
    }
    std::uint32_t const eighths = ring_table[i].count * 8 / ring_table[i].entries;
    if (best == rings || eighths < best_eighths) {
      best = i;
      best_eighths = eighths;
    }
  }
  return best;
}

std::uint32_t Machine::ring_for(Bucket& bucket) {
  const NotifGroup& group = group_table[bucket.group];
  std::uint32_t ring = bucket.ring;
  bool again = false;
  switch (bucket.mode) {
    case GXIO_MPIPE_BUCKET_DYNAMIC_FLOW_AFFINITY:
      again = bucket.count == 0;
      break;
    case GXIO_MPIPE_BUCKET_ROUND_ROBIN:
      again = true;
      break;
    case GXIO_MPIPE_BUCKET_STICKY_FLOW_LOCALITY:
    case GXIO_MPIPE_BUCKET_PREFER_FLOW_LOCALITY:
      again = full(ring);
      break;
    default:
      break;
  }
  if (again) {
    std::uint32_t const best = least_full(group);
    ring = best == rings ? ring : best;
    bucket.ring = static_cast<std::uint8_t>(ring);
  }
  if (chance(errors_.mispredicted)) {
    std::array<std::uint32_t, rings> members{};
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < rings; ++i) {
      if ((group.bits.ring_mask[i / 64] >> (i % 64) & 1) != 0) {
        members[count++] = i;
      }
    }
    ring = count == 0 ? ring : members[static_cast<std::uint32_t>(random_.below(count))];
  }
  return ring;
}

bool Machine::write_packet(std::span<const std::byte> data, std::uint32_t stack,
                           std::uint32_t headroom, gxio_mpipe_idesc_t& idesc) {
  BufferStack& from = stack_table[stack];
  if (!from.ready || from.free.empty()) {
    return false;
  }
  bool const chained = headroom + data.size() > from.bytes;
  gxio_mpipe_idesc_t* word = &idesc;
  gxio_mpipe_idesc_t link{};
  Offset word_at;
  std::size_t done = 0;
  std::uint32_t skip = headroom + (chained ? chain_word_bytes : 0);
  // Each round takes one buffer and fills it.
  while (done < data.size()) {
    bool const dry = from.free.empty();
    gxio_mpipe_idesc_t next{};
    std::uint32_t take = 0;
    if (dry) {
      next.c = MPIPE_EDMA_DESC_WORD1__C_VAL_INVALID;
      idesc.be = 1;
    } else {
      Offset const base = from.free.back();
      from.free.pop_back();
      memory_.move({base, from.bytes}, Place::ring);
      next = buffer_word({base.value + skip}, stack, from.size);
      next.c =
          chained ? MPIPE_EDMA_DESC_WORD1__C_VAL_CHAINED : MPIPE_EDMA_DESC_WORD1__C_VAL_UNCHAINED;
      take =
          static_cast<std::uint32_t>(std::min<std::size_t>(from.bytes - skip, data.size() - done));
      std::memcpy(memory_.at({base.value + skip}), data.data() + done, take);
    }
    word->words[7] = next.words[7];
    if (word == &link) {
      std::memcpy(memory_.at(word_at), &link.words[7], chain_word_bytes);
    }
    if (dry) {
      return true;
    }
    done += take;
    word = &link;
    word_at = {Memory::offset_of_bus(next.va).value & ~(Memory::block_bytes - 1)};
    skip = chain_word_bytes;
  }
  if (chained) {
    link = {};
    link.c = MPIPE_EDMA_DESC_WORD1__C_VAL_INVALID;
    std::memcpy(memory_.at(word_at), &link.words[7], chain_word_bytes);
  }
  return true;
}

void Machine::deliver(std::uint32_t index, const gxio_mpipe_idesc_t& idesc) {
  NotifRing& ring = ring_table[index];
  std::memcpy(memory_.at({ring.at.value + ring.tail * 64}), &idesc, sizeof idesc);
  ring.tail = ring.tail + 1 == ring.entries ? 1 : ring.tail + 1;
  ++ring.count;
  last_ring_ = index;
  std::uint64_t const tail = ring.tail;
  std::memcpy(memory_.at(ring.at), &tail, sizeof tail);
}

std::uint32_t Machine::delivered(std::uint32_t index) const {
  NotifRing const& ring = ring_table[index];
  return ring.tail >= ring.head ? ring.tail - ring.head : ring.entries - ring.head + ring.tail - 1;
}

// Software has read descriptors: from now on it owns the buffers that they name.
void Machine::advance(std::uint32_t index, std::uint32_t count) {
  NotifRing& ring = ring_table[index];
  for (std::uint32_t i = 0; i < count && ring.head != ring.tail; ++i) {
    gxio_mpipe_idesc_t idesc;
    std::memcpy(&idesc, memory_.at({ring.at.value + ring.head * 64}), sizeof idesc);
    ring.head = ring.head + 1 == ring.entries ? 1 : ring.head + 1;
    gxio_mpipe_idesc_t word{};
    word.words[7] = idesc.words[7];
    // A chain has at most as many buffers as the packet has octets.
    for (std::uint32_t steps = 0; steps < packet_max; ++steps) {
      if (word.c == MPIPE_EDMA_DESC_WORD1__C_VAL_INVALID) {
        break;
      }
      Offset const base{Memory::offset_of_bus(word.va).value & ~(Memory::block_bytes - 1)};
      bool const last = word.c == MPIPE_EDMA_DESC_WORD1__C_VAL_UNCHAINED;
      // Tests may write anything there; an address that is not a delivered buffer is ignored.
      auto const stack = static_cast<std::uint32_t>(word.stack_idx);
      std::uint32_t const bytes = stack_table[stack].bytes;
      if (bytes == 0 || !registered(stack, base, bytes) || memory_.place_of(base) != Place::ring) {
        break;
      }
      memory_.move({base, bytes}, Place::driver);
      if (last) {
        break;
      }
      std::memcpy(&word.words[7], memory_.at(base), chain_word_bytes);
    }
  }
}

void Machine::credit(int ring, int bucket, std::uint32_t count) {
  if (ring >= 0) {
    NotifRing& to = ring_table[static_cast<std::uint32_t>(ring)];
    if (to.count < count) {
      sin(Sin::credit_too_many);
    }
    to.count -= std::min(to.count, count);
  }
  if (bucket >= 0) {
    Bucket& to = bucket_table[static_cast<std::uint32_t>(bucket)];
    if (to.count < count) {
      sin(Sin::credit_too_many);
    }
    to.count -= std::min(to.count, count);
  }
}

}  // namespace lockstep::hw::mpipe
