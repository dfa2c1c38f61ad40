// The calls of a running worker: rings, descriptors, credits, clock and fence.
#include <cstring>

#include "hw/mpipe/kit.hpp"
#include "hw/mpipe/model/machine.hpp"

namespace mpipe = lockstep::hw::mpipe;
using mpipe::Machine;
using mpipe::Memory;

namespace {

// Credits are in the upper half, as a signed number; the index is in the low 24 bits.
constexpr std::uint64_t credit_one = std::uint64_t{1} << 32;
constexpr std::uint64_t index_mask = 0xff'ffff;

// The ring's count of completed descriptors has 16 bits and wraps.
void refresh(gxio_mpipe_equeue_t* equeue) {
  Machine& machine = *equeue->context->machine;
  machine.complete();
  std::uint64_t const rolling = machine.edma_table[equeue->ering].completed & 0xffff;
  std::uint64_t const since = (rolling - equeue->hw_complete_count) & 0xffff;
  equeue->hw_complete_count += since;
  equeue->credits_and_next_index += since * credit_one;
}

// Returns the index, or an error. The index must not carry into the credits, and the credits are
// kept.
int64_t reserve(gxio_mpipe_equeue_t* equeue, unsigned count) {
  for (int tries = 0; tries < 2; ++tries) {
    std::uint64_t const word = equeue->credits_and_next_index;
    auto const credits = static_cast<std::int64_t>(word) >> 32;
    if (credits >= static_cast<std::int64_t>(count)) {
      std::uint64_t const index = word & index_mask;
      std::uint64_t const next = (index + count) & index_mask;
      equeue->credits_and_next_index = (word & ~(credit_one - 1)) - count * credit_one + next;
      if ((index ^ next) >= 256) {
        refresh(equeue);
      }
      return static_cast<int64_t>(index);
    }
    refresh(equeue);
  }
  return GXIO_ERR_DMA_CREDITS;
}

}  // namespace

int gxio_mpipe_iqueue_try_peek(gxio_mpipe_iqueue_t* iqueue, gxio_mpipe_idesc_t** idesc) {
  std::uint64_t tail = 0;
  std::memcpy(&tail, static_cast<const void*>(iqueue->idescs), sizeof tail);
  std::uint32_t const head = iqueue->head;
  auto const end = static_cast<std::uint32_t>(tail);
  std::uint32_t const available = end >= head ? end - head : iqueue->num_entries - head;
  if (available == 0) {
    *idesc = nullptr;
    return GXIO_MPIPE_ERR_IQUEUE_EMPTY;
  }
  *idesc = iqueue->idescs + head;
  return static_cast<int>(available);
}

void gxio_mpipe_iqueue_advance(gxio_mpipe_iqueue_t* iqueue, int count) {
  std::uint32_t const head = iqueue->head + static_cast<std::uint32_t>(count);
  iqueue->head = (head & iqueue->mask_num_entries) + (head >> iqueue->log2_num_entries);
  iqueue->context->machine->advance(iqueue->ring, static_cast<std::uint32_t>(count));
}

int64_t gxio_mpipe_equeue_try_reserve_fast(gxio_mpipe_equeue_t* equeue, unsigned count) {
  return reserve(equeue, count);
}

int64_t gxio_mpipe_equeue_try_reserve(gxio_mpipe_equeue_t* equeue, unsigned count) {
  int64_t const index = reserve(equeue, count);
  if (index < 0) {
    return index;
  }
  // The first slot with these low bits that is not known to be complete.
  std::uint64_t const known = equeue->hw_complete_count;
  std::uint64_t slot = (known & ~index_mask) | static_cast<std::uint64_t>(index);
  slot += slot < known ? index_mask + 1 : 0;
  return static_cast<int64_t>(slot);
}

void gxio_mpipe_equeue_put_at(gxio_mpipe_equeue_t* equeue, gxio_mpipe_edesc_t edesc,
                              unsigned long slot) {
  Machine& machine = *equeue->context->machine;
  std::uint32_t const index = static_cast<std::uint32_t>(slot) & equeue->mask_num_entries;
  unsigned const generation = (slot >> equeue->log2_num_entries & 1) == 0 ? 1 : 0;
  gxio_mpipe_edesc_t* const at = equeue->edescs + index;
  if (at->gen == generation) {
    machine.sin(mpipe::Sin::slot_overwritten);
  }
  edesc.gen = generation & 1;
  // The word with the generation bit is written last, because the engine may read at any time.
  at->words[1] = edesc.words[1];
  at->words[0] = edesc.words[0];
  machine.fetch(equeue->ering);
}

int gxio_mpipe_equeue_is_complete(gxio_mpipe_equeue_t* equeue, int64_t slot, int update) {
  if (update != 0) {
    refresh(equeue);
  }
  return equeue->hw_complete_count > static_cast<std::uint64_t>(slot) ? 1 : 0;
}

unsigned char* gxio_mpipe_idesc_get_va(gxio_mpipe_idesc_t* idesc) {
  Memory& memory = Machine::current().memory();
  return reinterpret_cast<unsigned char*>(memory.at(Memory::offset_of_bus(idesc->va)));
}

unsigned char* gxio_mpipe_idesc_get_l2_start(gxio_mpipe_idesc_t* idesc) {
  return gxio_mpipe_idesc_get_va(idesc);
}

unsigned gxio_mpipe_idesc_get_l2_length(gxio_mpipe_idesc_t* idesc) {
  return static_cast<unsigned>(idesc->l2_size);
}

uint32_t gxio_mpipe_idesc_get_flow_hash(gxio_mpipe_idesc_t* idesc) {
  return static_cast<uint32_t>(idesc->custom0);
}

uint16_t gxio_mpipe_idesc_get_vlan(gxio_mpipe_idesc_t* idesc) {
  return static_cast<uint16_t>(idesc->custom1);
}

uint16_t gxio_mpipe_idesc_get_ethertype(gxio_mpipe_idesc_t* idesc) {
  return static_cast<uint16_t>(idesc->custom1 >> 16);
}

uint8_t gxio_mpipe_idesc_get_l3_offset(gxio_mpipe_idesc_t* idesc) {
  return static_cast<uint8_t>(idesc->custom1 >> 40);
}

uint8_t gxio_mpipe_idesc_get_l4_offset(gxio_mpipe_idesc_t* idesc) {
  return static_cast<uint8_t>(idesc->custom1 >> 48);
}

uint8_t gxio_mpipe_idesc_get_status(gxio_mpipe_idesc_t* idesc) {
  return static_cast<uint8_t>(idesc->custom1 >> 56);
}

unsigned gxio_mpipe_idesc_has_error(gxio_mpipe_idesc_t* idesc) {
  return idesc->me || idesc->tr || idesc->ce || idesc->be ? 1 : 0;
}

unsigned gxio_mpipe_idesc_is_bad(gxio_mpipe_idesc_t* idesc) {
  return gxio_mpipe_idesc_has_error(idesc) != 0 ||
                 (gxio_mpipe_idesc_get_status(idesc) & 0x80) != 0 ||
                 (idesc->cs && idesc->csum_seed_val != 0xffff)
             ? 1
             : 0;
}

void gxio_mpipe_edesc_set_va(gxio_mpipe_edesc_t* edesc, void* va) {
  mpipe::set_va(*edesc, Memory::bus_of(Machine::current().memory().offset_of(va)));
}

namespace lockstep::hw::mpipe {

unsigned char* buffer_of(gxio_mpipe_bdesc_t bdesc) { return buffer_of(Machine::current(), bdesc); }

unsigned char* buffer_of(Machine& machine, gxio_mpipe_bdesc_t bdesc) {
  return reinterpret_cast<unsigned char*>(
      machine.memory().at(Memory::offset_of_bus(static_cast<std::int64_t>(bdesc.va) * 128)));
}

unsigned char* next_of_chain(std::uint64_t word) {
  gxio_mpipe_idesc_t idesc{};
  idesc.words[7] = word;
  return gxio_mpipe_idesc_get_va(&idesc);
}

}  // namespace lockstep::hw::mpipe
