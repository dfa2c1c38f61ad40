// The calls that set up an mPIPE, with the hardware's limits, alignments and error codes.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "hw/mpipe/model/machine.hpp"

namespace mpipe = lockstep::hw::mpipe;
using mpipe::Machine;
using mpipe::Memory;

namespace {

constexpr std::array<std::size_t, 8> sizes{128, 256, 512, 1024, 1664, 4096, 10368, 16384};
constexpr std::uint32_t stack_alignment = 65'536;
constexpr std::uint32_t notif_ring_alignment = 4'096;
constexpr std::uint32_t edma_ring_alignment = 1'024;
constexpr std::size_t line_bytes = 64;
constexpr std::size_t buffers_a_line = 12;

// A request for `count` consecutive entries, starting at `first` if requested. They are allocated
// in aligned runs of `grain`.
struct Wanted {
  unsigned count;
  unsigned first;
  unsigned flags;
  unsigned grain;
  int none_left;
  int bad;
};

template <class Table>
int allocate(Table& table, const Wanted& wanted) {
  auto const size = static_cast<unsigned>(table.size());
  bool const fixed = (wanted.flags & GXIO_MPIPE_ALLOC_FIXED) != 0;
  if (wanted.count == 0 || wanted.count > size ||
      (fixed && (wanted.first > size - wanted.count || wanted.first % wanted.grain != 0))) {
    return wanted.bad;
  }
  unsigned const from = fixed ? wanted.first : 0;
  unsigned const until = fixed ? wanted.first : size - wanted.count;
  for (unsigned at = from; at <= until; at += wanted.grain) {
    bool free = true;
    for (unsigned i = 0; i < wanted.count; ++i) {
      free = free && !table[at + i].allocated;
    }
    if (free) {
      for (unsigned i = 0; i < wanted.count; ++i) {
        table[at + i].allocated = true;
      }
      return static_cast<int>(at);
    }
  }
  return wanted.none_left;
}

bool aligned(const Machine& machine, const void* memory, std::uint32_t alignment) {
  return machine.memory().offset_of(memory).value % alignment == 0;
}

// The error of memory intended for hardware, or 0.
int fault_of(const Machine& machine, const void* memory, std::size_t bytes, std::size_t needed,
             std::uint32_t alignment) {
  if (!machine.memory().holds(memory) || bytes == 0 ||
      !machine.memory().holds(static_cast<const std::byte*>(memory) + bytes - 1)) {
    return GXIO_ERR_CLIENT_MEMORY;
  }
  if (bytes < needed) {
    return GXIO_ERR_INVAL_MEMORY_SIZE;
  }
  return aligned(machine, memory, alignment) ? 0 : GXIO_ERR_ALIGNMENT;
}

bool is_one_of(std::uint32_t entries, std::array<std::uint32_t, 4> legal) {
  return std::find(legal.begin(), legal.end(), entries) != legal.end();
}

constexpr std::array<std::string_view, Machine::links> link_names{
    "gbe0",  "gbe1",  "gbe2",  "gbe3",  "xgbe0", "xgbe1",
    "xgbe2", "xgbe3", "loop0", "loop1", "loop2", "loop3"};

int link_of(const char* name) {
  for (std::uint32_t i = 0; i < Machine::links; ++i) {
    if (link_names[i] == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

const char* gxio_strerror(int error) {
  switch (error) {
    case GXIO_ERR_INVAL:
      return "invalid parameter";
    case GXIO_ERR_ALIGNMENT:
      return "memory is not aligned as it must be";
    case GXIO_ERR_ALREADY_INIT:
      return "initialised before";
    case GXIO_ERR_CLIENT_MEMORY:
      return "memory that cannot be used";
    case GXIO_ERR_IOTLB_ENTRY:
      return "no room for a further page";
    case GXIO_ERR_INVAL_MEMORY_SIZE:
      return "memory of a wrong size";
    case GXIO_ERR_DMA_CREDITS:
      return "the ring is full";
    case GXIO_ERR_NO_DEVICE:
      return "no such device";
    case GXIO_MPIPE_ERR_NO_BUFFER_STACK:
      return "no buffer stack is left";
    case GXIO_MPIPE_ERR_BAD_BUFFER_STACK:
      return "a buffer stack that is not ours";
    case GXIO_MPIPE_ERR_NO_NOTIF_RING:
      return "no notification ring is left";
    case GXIO_MPIPE_ERR_BAD_NOTIF_RING:
      return "a notification ring that is not ours";
    case GXIO_MPIPE_ERR_NO_NOTIF_GROUP:
      return "no notification group is left";
    case GXIO_MPIPE_ERR_BAD_NOTIF_GROUP:
      return "a notification group that is not ours";
    case GXIO_MPIPE_ERR_NO_BUCKET:
      return "no bucket is left";
    case GXIO_MPIPE_ERR_BAD_BUCKET:
      return "a bucket that is not ours";
    case GXIO_MPIPE_ERR_NO_EDMA_RING:
      return "no eDMA ring is left";
    case GXIO_MPIPE_ERR_BAD_EDMA_RING:
      return "an eDMA ring that is not ours";
    case GXIO_MPIPE_ERR_BAD_CHANNEL:
      return "a channel that is not open";
    case GXIO_MPIPE_ERR_IQUEUE_EMPTY:
      return "nothing has arrived";
    case GXIO_MPIPE_ERR_RULES_FULL:
      return "no room for a further rule";
    case GXIO_MPIPE_ERR_RULES_INVALID:
      return "an impossible rule";
    default:
      return "an error of the packet engine";
  }
}

int gxio_mpipe_link_instance(const char* link_name) {
  return link_of(link_name) < 0 ? GXIO_ERR_NO_DEVICE : 0;
}

int gxio_mpipe_init(gxio_mpipe_context_t* context, unsigned instance) {
  if (instance != 0) {
    return GXIO_ERR_NO_DEVICE;
  }
  Machine& machine = Machine::current();
  if (machine.initialised) {
    return GXIO_ERR_ALREADY_INIT;
  }
  machine.initialised = true;
  *context = {};
  context->machine = &machine;
  std::fill_n(context->__stacks, 8, std::uint8_t{255});
  return 0;
}

int gxio_mpipe_destroy(gxio_mpipe_context_t* context) {
  Machine& machine = *context->machine;
  machine.rules.clear();
  machine.stack_table = {};
  machine.ring_table = {};
  machine.group_table = {};
  machine.bucket_table.assign(Machine::buckets, {});
  machine.edma_table = {};
  machine.link_table = {};
  machine.abandon();
  machine.initialised = false;
  return 0;
}

int gxio_mpipe_link_open(gxio_mpipe_link_t* link, gxio_mpipe_context_t* context, const char* name,
                         unsigned) {
  int const index = link_of(name);
  if (index < 0) {
    return GXIO_ERR_NO_DEVICE;
  }
  context->machine->link_table[static_cast<std::uint32_t>(index)].open = true;
  *link = {context, index, static_cast<unsigned char>(index)};
  return 0;
}

int gxio_mpipe_link_close(gxio_mpipe_link_t* link) {
  link->context->machine->link_table[static_cast<std::uint32_t>(link->link)] = {};
  return 0;
}

int gxio_mpipe_link_channel(gxio_mpipe_link_t* link) { return link->channel; }

int gxio_mpipe_link_set_attr(gxio_mpipe_link_t* link, uint32_t attribute, int64_t value) {
  if (attribute != GXIO_MPIPE_LINK_RECEIVE_JUMBO) {
    return GXIO_ERR_INVAL;
  }
  link->context->machine->link_table[static_cast<std::uint32_t>(link->link)].jumbo = value != 0;
  return 0;
}

int64_t gxio_mpipe_link_get_attr(gxio_mpipe_link_t* link, uint32_t attribute) {
  Machine const& machine = *link->context->machine;
  if (attribute == GXIO_MPIPE_LINK_CURRENT_STATE) {
    return machine.link_up(link->channel) ? std::int64_t{GXIO_MPIPE_LINK_10G} : 0;
  }
  if (attribute == GXIO_MPIPE_LINK_MAC) {
    std::int64_t octets = 0;
    for (std::uint8_t const octet : machine.mac.octets) {
      octets = octets << 8 | octet;
    }
    return octets;
  }
  return GXIO_ERR_INVAL;
}

int gxio_mpipe_alloc_buffer_stacks(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                                   unsigned flags) {
  return allocate(
      context->machine->stack_table,
      {count, first, flags, 1, GXIO_MPIPE_ERR_NO_BUFFER_STACK, GXIO_MPIPE_ERR_BAD_BUFFER_STACK});
}

size_t gxio_mpipe_calc_buffer_stack_bytes(unsigned long buffers) {
  return (buffers + buffers_a_line - 1) / buffers_a_line * line_bytes;
}

size_t gxio_mpipe_buffer_size_enum_to_buffer_size(gxio_mpipe_buffer_size_enum_t size) {
  return sizes[static_cast<unsigned>(size) & 7];
}

gxio_mpipe_buffer_size_enum_t gxio_mpipe_buffer_size_to_buffer_size_enum(size_t size) {
  int index = 0;
  while (index < 7 && sizes[static_cast<unsigned>(index)] < size) {
    ++index;
  }
  return static_cast<gxio_mpipe_buffer_size_enum_t>(index);
}

int gxio_mpipe_init_buffer_stack(gxio_mpipe_context_t* context, unsigned index,
                                 gxio_mpipe_buffer_size_enum_t size, void* memory,
                                 size_t memory_size, unsigned) {
  Machine& machine = *context->machine;
  if (index >= Machine::stacks || !machine.stack_table[index].allocated) {
    return GXIO_MPIPE_ERR_BAD_BUFFER_STACK;
  }
  if (static_cast<unsigned>(size) > 7) {
    return GXIO_MPIPE_ERR_INVAL_BUFFER_SIZE;
  }
  Machine::BufferStack& stack = machine.stack_table[index];
  if (stack.ready) {
    return GXIO_ERR_ALREADY_INIT;
  }
  if (int const fault = fault_of(machine, memory, memory_size, line_bytes, stack_alignment);
      fault != 0) {
    return fault;
  }
  std::memset(memory, 0, memory_size);
  stack.ready = true;
  stack.size = size;
  stack.bytes = static_cast<std::uint32_t>(sizes[static_cast<unsigned>(size)]);
  stack.capacity = static_cast<std::uint32_t>(memory_size / line_bytes * buffers_a_line);
  // With two stacks of one size, rules use the later one.
  context->__stacks[size] = static_cast<std::uint8_t>(index);
  return 0;
}

int gxio_mpipe_register_page(gxio_mpipe_context_t* context, unsigned index, void* page,
                             size_t page_size, unsigned) {
  Machine& machine = *context->machine;
  if (index >= Machine::stacks || !machine.stack_table[index].ready) {
    return GXIO_MPIPE_ERR_BAD_BUFFER_STACK;
  }
  Machine::BufferStack& stack = machine.stack_table[index];
  if (!std::has_single_bit(page_size) || page_size < notif_ring_alignment) {
    return GXIO_ERR_INVAL_MEMORY_SIZE;
  }
  if (int const fault =
          fault_of(machine, page, page_size, page_size, static_cast<std::uint32_t>(page_size));
      fault != 0) {
    return fault;
  }
  if (stack.pages.size() == Machine::pages_a_stack) {
    return GXIO_ERR_IOTLB_ENTRY;
  }
  stack.pages.push_back({machine.memory().offset_of(page), static_cast<std::uint32_t>(page_size)});
  return 0;
}

void gxio_mpipe_push_buffer(gxio_mpipe_context_t* context, unsigned stack, void* buffer) {
  Machine& machine = *context->machine;
  if (stack >= Machine::stacks || !machine.memory().holds(buffer)) {
    machine.sin(mpipe::Sin::unregistered_push);
    return;
  }
  machine.push(stack, {machine.memory().offset_of(buffer).value & ~(Memory::block_bytes - 1)});
}

gxio_mpipe_bdesc_t gxio_mpipe_pop_buffer_bdesc(gxio_mpipe_context_t* context, unsigned stack) {
  return context->machine->pop(stack);
}

void* gxio_mpipe_pop_buffer(gxio_mpipe_context_t* context, unsigned stack) {
  gxio_mpipe_bdesc_t const got = context->machine->pop(stack);
  if (got.c == MPIPE_EDMA_DESC_WORD1__C_VAL_NOT_RDY) {
    context->machine->sin(mpipe::Sin::spun);
  }
  return got.c == MPIPE_EDMA_DESC_WORD1__C_VAL_UNCHAINED ? mpipe::buffer_of(*context->machine, got)
                                                         : nullptr;
}

int gxio_mpipe_get_buffer_count(gxio_mpipe_context_t* context, unsigned stack) {
  return static_cast<int>(context->machine->stack_table[stack].free.size());
}

int gxio_mpipe_alloc_notif_rings(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                                 unsigned flags) {
  constexpr unsigned chunk = 8;
  return allocate(
      context->machine->ring_table,
      {count, first, flags, chunk, GXIO_MPIPE_ERR_NO_NOTIF_RING, GXIO_MPIPE_ERR_BAD_NOTIF_RING});
}

int gxio_mpipe_alloc_notif_groups(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                                  unsigned flags) {
  return allocate(
      context->machine->group_table,
      {count, first, flags, 1, GXIO_MPIPE_ERR_NO_NOTIF_GROUP, GXIO_MPIPE_ERR_BAD_NOTIF_GROUP});
}

int gxio_mpipe_init_notif_group(gxio_mpipe_context_t* context, unsigned group,
                                gxio_mpipe_notif_group_bits_t bits) {
  if (group >= Machine::groups || !context->machine->group_table[group].allocated) {
    return GXIO_MPIPE_ERR_BAD_NOTIF_GROUP;
  }
  context->machine->group_table[group].bits = bits;
  return 0;
}

void gxio_mpipe_notif_group_add_ring(gxio_mpipe_notif_group_bits_t* bits, int ring) {
  bits->ring_mask[ring / 64] |= std::uint64_t{1} << (ring % 64);
}

int gxio_mpipe_alloc_buckets(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                             unsigned flags) {
  // 4096 buckets in chunks of 256, and 64 in chunks of 4 for small requests; a request lies within
  // one kind.
  constexpr unsigned low = 4'096;
  constexpr unsigned few = 64;
  auto& table = context->machine->bucket_table;
  bool const fixed = (flags & GXIO_MPIPE_ALLOC_FIXED) != 0;
  if (fixed && first < low && first + count > low) {
    return GXIO_MPIPE_ERR_BAD_BUCKET;
  }
  Wanted const wanted{
      count, first, flags, 256, GXIO_MPIPE_ERR_NO_BUCKET, GXIO_MPIPE_ERR_BAD_BUCKET};
  if (count <= few && !fixed) {
    std::span high(table.data() + low, few);
    Wanted small = wanted;
    small.grain = 4;
    int const got = allocate(high, small);
    if (got >= 0) {
      return got + static_cast<int>(low);
    }
  }
  if (fixed && first >= low) {
    std::span high(table.data() + low, few);
    int const got = allocate(
        high, {count, first - low, flags, 4, GXIO_MPIPE_ERR_NO_BUCKET, GXIO_MPIPE_ERR_BAD_BUCKET});
    return got < 0 ? got : got + static_cast<int>(low);
  }
  std::span lows(table.data(), low);
  return allocate(lows, wanted);
}

int gxio_mpipe_init_bucket(gxio_mpipe_context_t* context, unsigned index,
                           gxio_mpipe_bucket_info_t info) {
  Machine& machine = *context->machine;
  if (index >= Machine::buckets || !machine.bucket_table[index].allocated) {
    return GXIO_MPIPE_ERR_BAD_BUCKET;
  }
  if (!machine.ring_table[info.notifring].ready) {
    return GXIO_MPIPE_ERR_BAD_NOTIF_RING;
  }
  Machine::Bucket& bucket = machine.bucket_table[index];
  bucket = {};
  bucket.allocated = true;
  bucket.ready = true;
  bucket.ring = static_cast<std::uint8_t>(info.notifring);
  bucket.group = static_cast<std::uint8_t>(info.group);
  bucket.mode = static_cast<std::uint8_t>(info.mode);
  return 0;
}

int gxio_mpipe_init_notif_group_and_buckets(gxio_mpipe_context_t* context, unsigned group,
                                            unsigned ring, unsigned num_rings, unsigned bucket,
                                            unsigned num_buckets, gxio_mpipe_bucket_mode_t mode) {
  gxio_mpipe_notif_group_bits_t bits{};
  for (unsigned i = 0; i < num_rings; ++i) {
    gxio_mpipe_notif_group_add_ring(&bits, static_cast<int>(ring + i));
  }
  int result = gxio_mpipe_init_notif_group(context, group, bits);
  for (unsigned i = 0; i < num_buckets && result >= 0; ++i) {
    gxio_mpipe_bucket_info_t info{};
    info.notifring = (ring + i % num_rings) & 0xff;
    info.group = group & 0x1f;
    info.mode = static_cast<unsigned>(mode) & 7;
    result = gxio_mpipe_init_bucket(context, bucket + i, info);
  }
  return result;
}

void gxio_mpipe_credit(gxio_mpipe_context_t* context, int ring, int bucket, unsigned count) {
  context->machine->credit(ring, bucket, count);
}

int gxio_mpipe_iqueue_init(gxio_mpipe_iqueue_t* iqueue, gxio_mpipe_context_t* context,
                           unsigned ring, void* memory, size_t memory_size, unsigned) {
  Machine& machine = *context->machine;
  if (ring >= Machine::rings || !machine.ring_table[ring].allocated) {
    return GXIO_MPIPE_ERR_BAD_NOTIF_RING;
  }
  auto const entries = static_cast<std::uint32_t>(memory_size / sizeof(gxio_mpipe_idesc_t));
  if (!is_one_of(entries, {128, 512, 2'048, 65'536}) ||
      memory_size % sizeof(gxio_mpipe_idesc_t) != 0) {
    return GXIO_ERR_INVAL_MEMORY_SIZE;
  }
  if (int const fault = fault_of(machine, memory, memory_size, memory_size, notif_ring_alignment);
      fault != 0) {
    return fault;
  }
  std::memset(memory, 0, memory_size);
  std::uint64_t const tail = 1;
  std::memcpy(memory, &tail, sizeof tail);
  machine.ring_table[ring] = {};
  Machine::NotifRing& made = machine.ring_table[ring];
  made.allocated = true;
  made.ready = true;
  made.entries = entries;
  made.at = machine.memory().offset_of(memory);
  *iqueue = {context,
             static_cast<gxio_mpipe_idesc_t*>(memory),
             entries,
             entries - 1,
             static_cast<uint32_t>(std::countr_zero(entries)),
             1,
             static_cast<uint8_t>(ring)};
  return 0;
}

int gxio_mpipe_alloc_edma_rings(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                                unsigned flags) {
  return allocate(
      context->machine->edma_table,
      {count, first, flags, 1, GXIO_MPIPE_ERR_NO_EDMA_RING, GXIO_MPIPE_ERR_BAD_EDMA_RING});
}

int gxio_mpipe_equeue_init(gxio_mpipe_equeue_t* equeue, gxio_mpipe_context_t* context,
                           unsigned ering, unsigned channel, void* memory, size_t memory_size,
                           unsigned) {
  Machine& machine = *context->machine;
  if (ering >= Machine::edma_rings || !machine.edma_table[ering].allocated) {
    return GXIO_MPIPE_ERR_BAD_EDMA_RING;
  }
  if (channel >= Machine::links || !machine.link_table[channel].open) {
    return GXIO_MPIPE_ERR_BAD_CHANNEL;
  }
  auto const entries = static_cast<std::uint32_t>(memory_size / sizeof(gxio_mpipe_edesc_t));
  if (!is_one_of(entries, {512, 2'048, 8'192, 65'536})) {
    return GXIO_ERR_INVAL_MEMORY_SIZE;
  }
  if (int const fault = fault_of(machine, memory, memory_size, memory_size, edma_ring_alignment);
      fault != 0) {
    return fault;
  }
  std::memset(memory, 0, memory_size);
  Machine::EdmaRing made;
  made.allocated = true;
  made.ready = true;
  made.entries = entries;
  made.log2 = static_cast<std::uint32_t>(std::countr_zero(entries));
  made.at = machine.memory().offset_of(memory);
  made.channel = static_cast<std::uint8_t>(channel);
  machine.edma_table[ering] = made;
  std::uint64_t const credits = std::min<std::uint32_t>(entries, 65'535);
  *equeue = {context,
             static_cast<gxio_mpipe_edesc_t*>(memory),
             credits << 32,
             0,
             entries - 1,
             made.log2,
             static_cast<uint8_t>(ering),
             static_cast<uint8_t>(channel)};
  return 0;
}

int gxio_mpipe_equeue_set_snf_size(gxio_mpipe_equeue_t* equeue, size_t size) {
  Machine::EdmaRing& ring = equeue->context->machine->edma_table[equeue->ering];
  if (ring.next != 0 || size > Machine::jumbo_frame_max) {
    return GXIO_ERR_INVAL;
  }
  ring.store_bytes = static_cast<std::uint32_t>((size + 127) / 128 * 128);
  return 0;
}

int gxio_mpipe_get_stats(gxio_mpipe_context_t* context, gxio_mpipe_stats_t* stats) {
  *stats = context->machine->stats();
  return 0;
}
