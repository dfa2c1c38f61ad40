// Opens links, rings, groups and buckets, eDMA rings, stacks with their pages and buffers, then
// rules.
#include "hw/mpipe/setup.hpp"

#include "core/units/check.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint32_t page_least = 65'536;
constexpr std::uint32_t page_most = 16u << 20;
constexpr std::uint32_t pages_a_stack = 16;
constexpr std::uint32_t idesc_bytes = 64;
constexpr std::uint32_t edesc_bytes = 16;
constexpr std::uint32_t buffers_a_line = 12;
constexpr std::uint32_t line_bytes = 64;

// Receive classes: short frames, full ones, and jumbo frames if the link carries them. 10368 is
// omitted, because frames that fit could still be chained.
constexpr std::array<std::uint32_t, Mpipe::classes_max> classes{128, 1'664, 16'384};

// The whole frame must fit after the headroom of two octets, or it is chained.
constexpr std::uint32_t headroom = 2;

constexpr std::uint32_t class_count(const MpipeShape& shape) {
  return shape.frame_bytes() + headroom > classes[1] ? 3 : 2;
}

constexpr std::uint32_t buffer_for(const MpipeShape& shape) {
  for (std::uint32_t const each : {1'664u, 4'096u}) {
    if (shape.frame_bytes() <= each) {
      return each;
    }
  }
  return 16'384;
}

// The smallest page size for which a stack's limit on pages suffices.
constexpr std::uint32_t page_for(std::uint64_t bytes) {
  std::uint32_t page = page_least;
  while (page < page_most && page * std::uint64_t{pages_a_stack} < bytes) {
    page *= 4;
  }
  return page;
}

constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
  std::uint64_t const page = page_for(bytes);
  return (bytes + page - 1) / page * page;
}

constexpr std::uint64_t stack_bytes(std::uint64_t buffers) {
  return (buffers + buffers_a_line - 1) / buffers_a_line * line_bytes;
}

constexpr std::uint32_t sharers(const MpipeShape& shape) {
  return (shape.workers.value + shape.edma_rings() - 1) / shape.edma_rings();
}

constexpr std::uint64_t contiguous_bytes(std::uint64_t bytes) {
  std::uint64_t page = page_least;
  while (page < bytes) {
    page *= 4;
  }
  return page;
}

}  // namespace

std::uint64_t Mpipe::memory_bytes(const MpipeShape& shape) {
  // Alignment to a larger page may waste as much before it.
  std::uint64_t all = 0;
  std::uint32_t const links = shape.link_count();
  auto const add = [&all](std::uint64_t bytes, std::uint64_t page) {
    all = (all + page - 1) / page * page + bytes;
  };
  for (std::uint32_t i = 0; i < links * shape.workers.value; ++i) {
    std::uint64_t const bytes = contiguous_bytes(shape.receive_ring.value * idesc_bytes);
    add(bytes, bytes);
  }
  std::uint64_t const buffers = std::uint64_t{shape.transmit_buffers.value} * sharers(shape);
  for (std::uint32_t i = 0; i < links * shape.edma_rings(); ++i) {
    std::uint64_t const bytes = contiguous_bytes(
        std::uint64_t{edma_ring_for(static_cast<std::uint32_t>(buffers))} * edesc_bytes);
    add(bytes, bytes);
  }
  auto const add_stack = [&](std::uint64_t count, std::uint64_t bytes) {
    add(contiguous_bytes(stack_bytes(count)), contiguous_bytes(stack_bytes(count)));
    add(whole_pages(count * bytes), page_for(count * bytes));
  };
  for (std::uint32_t i = 0; i < class_count(shape); ++i) {
    add_stack(shape.receive_buffers(), classes[i]);
  }
  for (std::uint32_t i = 0; i < links * shape.edma_rings(); ++i) {
    add_stack(buffers, buffer_for(shape));
  }
  return all;
}

void* Mpipe::map(tmc_alloc_t& alloc, std::uint64_t bytes) {
  CHECK(mapped_ < mappings_max);
  auto const size = static_cast<std::size_t>(bytes);
  void* const memory = tmc_alloc_map(&alloc, size);
  if (memory != nullptr) {
    mappings_[mapped_++] = {memory, size};
  }
  return memory;
}

// Allocates contiguous memory, within one page.
void* Mpipe::contiguous(std::uint64_t bytes, int home) {
  tmc_alloc_t alloc = TMC_ALLOC_INIT;
  tmc_alloc_set_home(&alloc, home);
  return tmc_alloc_set_pagesize(&alloc, static_cast<std::size_t>(bytes)) == nullptr
             ? nullptr
             : map(alloc, bytes);
}

MpipeTrouble Mpipe::open(const MpipeShape& shape) {
  CHECK(!open_);
  CHECK(shape.workers.value >= 1 && shape.workers.value <= MpipeShape::workers_max);
  CHECK(shape.mtu.count <= MpipeShape::mtu_max);
  CHECK(shape.batch.value >= 1 && shape.batch.value <= 32);
  CHECK(shape.link_count() != 0);
  shape_ = shape;
  int const instance = gxio_mpipe_link_instance(shape.links[0]);
  for (std::uint32_t i = 0; i < shape.link_count(); ++i) {
    int const of_link = gxio_mpipe_link_instance(shape.links[i]);
    if (of_link < 0) {
      return {"finding the link", of_link};
    }
    if (of_link != instance) {
      return {"finding the link on the nic of the first", GXIO_ERR_NO_DEVICE};
    }
  }
  if (MpipeTrouble const trouble = shape.dataplane ? find_cores() : MpipeTrouble{};
      !trouble.none()) {
    return trouble;
  }
  int const made = gxio_mpipe_init(&context_, static_cast<unsigned>(instance));
  if (made < 0) {
    return {"opening the packet engine", made};
  }
  open_ = true;
  MpipeTrouble trouble;
  for (std::uint32_t i = 0; i < shape.link_count() && trouble.none(); ++i) {
    trouble = open_link({i});
  }
  trouble = trouble.none() ? open_rings() : trouble;
  for (std::uint32_t i = 0; i < shape.link_count() && trouble.none(); ++i) {
    trouble = open_buckets({i});
  }
  trouble = trouble.none() ? open_edma() : trouble;
  trouble = trouble.none() ? open_stacks() : trouble;
  // Packets are received from here on.
  trouble = trouble.none() ? open_rules() : trouble;
  if (!trouble.none()) {
    close();
  }
  return trouble;
}

MpipeTrouble Mpipe::find_cores() {
  mpipe::CpuSet cpus;
  if (int const got = tmc_cpus_get_dataplane_cpus(&cpus); got < 0) {
    return {"asking for the cores of the dataplane", got};
  }
  for (std::uint32_t worker = 0; worker < shape_.workers.value; ++worker) {
    cores_[worker] = tmc_cpus_find_nth_cpu(&cpus, worker);
    if (cores_[worker] < 0) {
      return {"finding a core of the dataplane for each worker", GXIO_ERR_NO_DEVICE};
    }
  }
  return {};
}

MpipeTrouble Mpipe::open_link(MpipeLink link) {
  gxio_mpipe_link_t& opened = links_[link.value];
  int const result = gxio_mpipe_link_open(&opened, &context_, shape_.links[link.value], 0);
  if (result < 0) {
    return {"opening the link", result};
  }
  ++linked_;
  channels_[link.value] = static_cast<std::uint32_t>(gxio_mpipe_link_channel(&opened));
  for (std::uint32_t i = 0; i < link.value; ++i) {
    if (channels_[i] == channels_[link.value]) {
      return {"opening the link a second time", GXIO_ERR_INVAL};
    }
  }
  if (shape_.jumbo()) {
    int const jumbo = gxio_mpipe_link_set_attr(&opened, GXIO_MPIPE_LINK_RECEIVE_JUMBO, 1);
    if (jumbo < 0) {
      return {"asking the link for jumbo frames", jumbo};
    }
  }
  return {};
}

MpipeTrouble Mpipe::open_rings() {
  std::uint32_t const rings = shape_.link_count() * shape_.workers.value;
  int const first = gxio_mpipe_alloc_notif_rings(&context_, rings, 0, 0);
  if (first < 0) {
    return {"allocating notification rings", first};
  }
  first_ring_ = static_cast<std::uint32_t>(first);
  std::uint64_t const bytes = std::uint64_t{shape_.receive_ring.value} * idesc_bytes;
  for (std::uint32_t i = 0; i < rings; ++i) {
    void* const memory = contiguous(bytes, home_of(i % shape_.workers.value));
    if (memory == nullptr) {
      return {"memory of a notification ring", GXIO_ERR_CLIENT_MEMORY};
    }
    int const made = gxio_mpipe_iqueue_init(&iqueues_[i], &context_, first_ring_ + i, memory,
                                            static_cast<std::size_t>(bytes), 0);
    if (made < 0) {
      return {"initialising a notification ring", made};
    }
  }
  return {};
}

MpipeTrouble Mpipe::open_buckets(MpipeLink link) {
  int const group = gxio_mpipe_alloc_notif_groups(&context_, 1, 0, 0);
  if (group < 0) {
    return {"allocating a notification group", group};
  }
  int const bucket = gxio_mpipe_alloc_buckets(&context_, buckets, 0, 0);
  if (bucket < 0) {
    return {"allocating buckets", bucket};
  }
  first_buckets_[link.value] = static_cast<std::uint32_t>(bucket);
  int const joined = gxio_mpipe_init_notif_group_and_buckets(
      &context_, static_cast<unsigned>(group), first_ring(link),
      shape_.first_only ? 1 : shape_.workers.value, first_buckets_[link.value], buckets,
      GXIO_MPIPE_BUCKET_STATIC_FLOW_AFFINITY);
  return joined < 0 ? MpipeTrouble{"initialising group and buckets", joined} : MpipeTrouble{};
}

MpipeTrouble Mpipe::open_edma() {
  std::uint32_t const rings = shape_.link_count() * shape_.edma_rings();
  int const first = gxio_mpipe_alloc_edma_rings(&context_, rings, 0, 0);
  if (first < 0) {
    return {"allocating eDMA rings", first};
  }
  std::uint64_t const bytes =
      std::uint64_t{edma_ring_for(shape_.transmit_buffers.value * sharers(shape_))} * edesc_bytes;
  for (std::uint32_t i = 0; i < rings; ++i) {
    bool const own = shape_.edma_rings() == shape_.workers.value;
    void* const memory =
        contiguous(bytes, own ? home_of(i % shape_.workers.value) : TMC_ALLOC_HOME_HASH);
    if (memory == nullptr) {
      return {"memory of an eDMA ring", GXIO_ERR_CLIENT_MEMORY};
    }
    int const made = gxio_mpipe_equeue_init(
        &equeues_[i], &context_, static_cast<unsigned>(first) + i,
        channels_[i / shape_.edma_rings()], memory, static_cast<std::size_t>(bytes), 0);
    if (made < 0) {
      return {"initialising an eDMA ring", made};
    }
  }
  return {};
}

MpipeTrouble Mpipe::open_stacks() {
  std::uint32_t const received = class_count(shape_);
  std::uint32_t const sending = shape_.link_count() * shape_.edma_rings();
  int const first = gxio_mpipe_alloc_buffer_stacks(&context_, received + sending, 0, 0);
  if (first < 0) {
    return {"allocating buffer stacks", first};
  }
  first_receive_stack_ = static_cast<std::uint32_t>(first);
  first_transmit_stack_ = first_receive_stack_ + received;
  transmit_bytes_ = buffer_for(shape_);
  for (std::uint32_t i = 0; i < received; ++i) {
    MpipeTrouble const trouble =
        open_stack({first_receive_stack_ + i, classes[i], shape_.receive_buffers()});
    if (!trouble.none()) {
      return trouble;
    }
  }
  for (std::uint32_t i = 0; i < sending; ++i) {
    MpipeTrouble const trouble = open_stack({first_transmit_stack_ + i, transmit_bytes_,
                                             shape_.transmit_buffers.value * sharers(shape_)});
    if (!trouble.none()) {
      return trouble;
    }
  }
  return {};
}

MpipeTrouble Mpipe::open_stack(const StackWanted& wanted) {
  std::size_t const own = gxio_mpipe_calc_buffer_stack_bytes(wanted.count);
  void* const memory = contiguous(own, TMC_ALLOC_HOME_HASH);
  if (memory == nullptr) {
    return {"memory of a buffer stack", GXIO_ERR_CLIENT_MEMORY};
  }
  int const made = gxio_mpipe_init_buffer_stack(
      &context_, wanted.index, gxio_mpipe_buffer_size_to_buffer_size_enum(wanted.buffer_bytes),
      memory, own, 0);
  if (made < 0) {
    return {"initialising a buffer stack", made};
  }
  std::uint64_t const bytes = std::uint64_t{wanted.count} * wanted.buffer_bytes;
  tmc_alloc_t alloc = TMC_ALLOC_INIT;
  tmc_alloc_set_home(&alloc, TMC_ALLOC_HOME_HASH);
  if (tmc_alloc_set_pagesize(&alloc, page_for(bytes)) == nullptr) {
    return {"pages for buffers", GXIO_ERR_INVAL_MEMORY_SIZE};
  }
  std::size_t const page = tmc_alloc_get_pagesize(&alloc);
  std::uint64_t const all = (bytes + page - 1) / page * page;
  auto* const buffers = static_cast<std::byte*>(map(alloc, all));
  if (buffers == nullptr) {
    return {"memory of buffers", GXIO_ERR_CLIENT_MEMORY};
  }
  buffers_[wanted.index - first_receive_stack_] = {reinterpret_cast<unsigned char*>(buffers),
                                                   wanted.buffer_bytes, wanted.count};
  for (std::uint64_t at = 0; at < all; at += page) {
    int const known = gxio_mpipe_register_page(&context_, wanted.index, buffers + at, page, 0);
    if (known < 0) {
      return {"registering a page of buffers", known};
    }
  }
  for (std::uint32_t i = 0; i < wanted.count; ++i) {
    gxio_mpipe_push_buffer(&context_, wanted.index,
                           buffers + std::uint64_t{i} * wanted.buffer_bytes);
  }
  return {};
}

unsigned char* Mpipe::buffer_around(std::uint32_t stack, unsigned char* first,
                                    std::uint32_t bytes) const {
  std::uint32_t const index = stack - first_receive_stack_;
  if (index >= buffers_.size() || buffers_[index].first == nullptr) {
    return nullptr;
  }
  Buffers const& of = buffers_[index];
  // As unsigned numbers: an address before the first wraps, and is then beyond the end.
  std::uint64_t const at = std::uint64_t{reinterpret_cast<std::uintptr_t>(first)} -
                           std::uint64_t{reinterpret_cast<std::uintptr_t>(of.first)};
  std::uint64_t const within = at % of.each_bytes;
  bool const fits = at < std::uint64_t{of.each_bytes} * of.count && bytes <= of.each_bytes - within;
  return fits ? of.first + (at - within) : nullptr;
}

MpipeTrouble Mpipe::open_rules() {
  // Size classes from 128 to 16384; 255: use the next larger one. Transmit stacks are in no rule.
  gxio_mpipe_rules_stacks_t stacks{};
  for (std::uint8_t& each : stacks.stacks) {
    each = 255;
  }
  constexpr std::array<std::uint32_t, classes_max> places{0, 4, 7};
  for (std::uint32_t i = 0; i < class_count(shape_); ++i) {
    stacks.stacks[places[i]] = static_cast<std::uint8_t>(first_receive_stack_ + i);
  }
  gxio_mpipe_rules_init(&rules_, &context_);
  int result = 0;
  for (std::uint32_t i = 0; i < shape_.link_count() && result >= 0; ++i) {
    result = add_rule({i}, stacks);
  }
  result = result < 0 ? result : gxio_mpipe_rules_commit(&rules_);
  return result < 0 ? MpipeTrouble{"committing the rules", result} : MpipeTrouble{};
}

int Mpipe::add_rule(MpipeLink link, gxio_mpipe_rules_stacks_t& stacks) {
  int result = gxio_mpipe_rules_begin(&rules_, first_buckets_[link.value], buckets, &stacks);
  result = result < 0 ? result : gxio_mpipe_rules_set_headroom(&rules_, headroom);
  return result < 0 ? result : gxio_mpipe_rules_add_channel(&rules_, channel(link));
}

MpipeTrouble Mpipe::stop_receiving() {
  gxio_mpipe_rules_init(&rules_, &context_);
  int const result = gxio_mpipe_rules_commit(&rules_);
  return result < 0 ? MpipeTrouble{"withdrawing the rules", result} : MpipeTrouble{};
}

void Mpipe::close() {
  if (!open_) {
    return;
  }
  while (linked_ != 0) {
    --linked_;
    gxio_mpipe_link_close(&links_[linked_]);
  }
  gxio_mpipe_destroy(&context_);
  buffers_ = {};
  // Only now does hardware own none of it.
  while (mapped_ != 0) {
    --mapped_;
    tmc_alloc_unmap(mappings_[mapped_].memory, mappings_[mapped_].bytes);
  }
  open_ = false;
}

bool Mpipe::link_is_up(MpipeLink link) {
  std::int64_t const state =
      gxio_mpipe_link_get_attr(&links_[link.value], GXIO_MPIPE_LINK_CURRENT_STATE);
  return state > 0 && (state & GXIO_MPIPE_LINK_SPEED_MASK) != 0;
}

}  // namespace lockstep::hw
