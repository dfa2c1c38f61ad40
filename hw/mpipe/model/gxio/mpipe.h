// The mPIPE interface that our driver calls, with the vendor's names, implemented by our model.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::hw::mpipe {
class Machine;
}

// Calls return zero or more, or one of these errors.
enum gxio_error_t : int {
  GXIO_ERR_OPCODE = -1101,
  GXIO_ERR_INVAL = -1102,
  GXIO_ERR_ALIGNMENT = -1103,
  GXIO_ERR_COHERENCE = -1104,
  GXIO_ERR_ALREADY_INIT = -1105,
  GXIO_ERR_NO_SVC_DOM = -1106,
  GXIO_ERR_INVAL_SVC_DOM = -1107,
  GXIO_ERR_MMIO_ADDRESS = -1108,
  GXIO_ERR_INTERRUPT = -1109,
  GXIO_ERR_CLIENT_MEMORY = -1110,
  GXIO_ERR_IOTLB_ENTRY = -1111,
  GXIO_ERR_INVAL_MEMORY_SIZE = -1112,
  GXIO_ERR_UNSUPPORTED_OP = -1113,
  GXIO_ERR_DMA_CREDITS = -1114,
  GXIO_ERR_TIMEOUT = -1115,
  GXIO_ERR_NO_DEVICE = -1116,
  GXIO_ERR_BUSY = -1117,
  GXIO_ERR_IO = -1118,
  GXIO_ERR_PERM = -1119,
  GXIO_MPIPE_ERR_INVAL_BUFFER_SIZE = -1131,
  GXIO_MPIPE_ERR_NO_BUFFER_STACK = -1140,
  GXIO_MPIPE_ERR_BAD_BUFFER_STACK = -1141,
  GXIO_MPIPE_ERR_NO_NOTIF_RING = -1142,
  GXIO_MPIPE_ERR_BAD_NOTIF_RING = -1143,
  GXIO_MPIPE_ERR_NO_NOTIF_GROUP = -1144,
  GXIO_MPIPE_ERR_BAD_NOTIF_GROUP = -1145,
  GXIO_MPIPE_ERR_NO_BUCKET = -1146,
  GXIO_MPIPE_ERR_BAD_BUCKET = -1147,
  GXIO_MPIPE_ERR_NO_EDMA_RING = -1148,
  GXIO_MPIPE_ERR_BAD_EDMA_RING = -1149,
  GXIO_MPIPE_ERR_BAD_CHANNEL = -1150,
  GXIO_MPIPE_ERR_BAD_CONFIG = -1151,
  GXIO_MPIPE_ERR_IQUEUE_EMPTY = -1152,
  GXIO_MPIPE_ERR_RULES_EMPTY = -1160,
  GXIO_MPIPE_ERR_RULES_FULL = -1161,
  GXIO_MPIPE_ERR_RULES_CORRUPT = -1162,
  GXIO_MPIPE_ERR_RULES_INVALID = -1163,
};
const char* gxio_strerror(int error);

enum gxio_mpipe_buffer_size_enum_t : int {
  GXIO_MPIPE_BUFFER_SIZE_128 = 0,
  GXIO_MPIPE_BUFFER_SIZE_256 = 1,
  GXIO_MPIPE_BUFFER_SIZE_512 = 2,
  GXIO_MPIPE_BUFFER_SIZE_1024 = 3,
  GXIO_MPIPE_BUFFER_SIZE_1664 = 4,
  GXIO_MPIPE_BUFFER_SIZE_4096 = 5,
  GXIO_MPIPE_BUFFER_SIZE_10368 = 6,
  GXIO_MPIPE_BUFFER_SIZE_16384 = 7,
};

// Values of field `c` of a buffer descriptor.
enum : unsigned {
  MPIPE_EDMA_DESC_WORD1__C_VAL_UNCHAINED = 0,
  MPIPE_EDMA_DESC_WORD1__C_VAL_CHAINED = 1,
  MPIPE_EDMA_DESC_WORD1__C_VAL_NOT_RDY = 2,
  MPIPE_EDMA_DESC_WORD1__C_VAL_INVALID = 3,
};

// The interface has unnamed structures in unions, which is not standard C++.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

// A received packet, 64 octets.
typedef union {
  struct {
    uint64_t notif_ring : 8, channel : 5, __reserved_0 : 1, me : 1, tr : 1, l2_size : 14, ce : 1,
        ct : 1, bucket_id : 13, __reserved_1 : 3, cs : 1, nr : 1, dest : 2, sq : 1, ts : 1, ps : 1,
        be : 1, ctr0 : 5, __reserved_2 : 3;
    uint64_t ctr1 : 5, __reserved_3 : 3, csum_start : 8, csum_seed_val : 16, custom0 : 32;
    uint64_t custom1;
    uint64_t custom2;
    uint64_t custom3;
    uint64_t gp_sqn : 16, packet_sqn : 48;
    uint64_t time_stamp_ns : 32, time_stamp_sec : 32;
    int64_t va : 42;
    uint64_t __reserved_4 : 6, stack_idx : 5, __reserved_5 : 3, inst : 2, hwb : 1, size : 3, c : 2;
  };
  uint64_t words[8];
} gxio_mpipe_idesc_t;

// One piece of a packet to send, 16 octets.
typedef union {
  struct {
    uint64_t gen : 1, efifo_sel : 6, __reserved_0 : 1, csum : 1, ns : 1, notif : 1, bound : 1,
        __reserved_1 : 4, xfer_size : 14, __reserved_2 : 2, csum_dest : 8, csum_start : 8,
        csum_seed : 16;
    int64_t va : 42;
    uint64_t __reserved_3 : 6, stack_idx : 5, __reserved_4 : 3, inst : 2, hwb : 1, size : 3, c : 2;
  };
  uint64_t words[2];
} gxio_mpipe_edesc_t;

// A buffer popped from a stack.
typedef union {
  struct {
    uint64_t __reserved_0 : 7;
    int64_t va : 35;
    uint64_t __reserved_1 : 6, stack_idx : 5, __reserved_2 : 3, inst : 2, hwb : 1, size : 3, c : 2;
  };
  uint64_t word;
} gxio_mpipe_bdesc_t;

#pragma GCC diagnostic pop

static_assert(sizeof(gxio_mpipe_idesc_t) == 64 && sizeof(gxio_mpipe_edesc_t) == 16 &&
              sizeof(gxio_mpipe_bdesc_t) == 8);

typedef struct {
  lockstep::hw::mpipe::Machine* machine;
  int instance;
  uint8_t __stacks[8];  // by size class; the default of rules_begin
} gxio_mpipe_context_t;

typedef struct {
  gxio_mpipe_context_t* context;
  int link;
  unsigned char channel;
} gxio_mpipe_link_t;

enum : unsigned { GXIO_MPIPE_ALLOC_FIXED = 1 };

enum : uint32_t {
  GXIO_MPIPE_LINK_RECEIVE_JUMBO = 0x010000,
  GXIO_MPIPE_LINK_MAC = 0x040000,
  GXIO_MPIPE_LINK_DISCARD_IF_DOWN = 0x050000,
  GXIO_MPIPE_LINK_POSSIBLE_STATE = 0x060000,
  GXIO_MPIPE_LINK_CURRENT_STATE = 0x070000,
  GXIO_MPIPE_LINK_DESIRED_STATE = 0x080000,
};
enum : int64_t {
  GXIO_MPIPE_LINK_1G = 4,
  GXIO_MPIPE_LINK_10G = 8,
  GXIO_MPIPE_LINK_SPEED_MASK = 0xfff,
};

int gxio_mpipe_link_instance(const char* link_name);
int gxio_mpipe_init(gxio_mpipe_context_t* context, unsigned instance);
int gxio_mpipe_destroy(gxio_mpipe_context_t* context);
int gxio_mpipe_link_open(gxio_mpipe_link_t* link, gxio_mpipe_context_t* context, const char* name,
                         unsigned flags);
int gxio_mpipe_link_close(gxio_mpipe_link_t* link);
int gxio_mpipe_link_channel(gxio_mpipe_link_t* link);
int gxio_mpipe_link_set_attr(gxio_mpipe_link_t* link, uint32_t attribute, int64_t value);
int64_t gxio_mpipe_link_get_attr(gxio_mpipe_link_t* link, uint32_t attribute);

int gxio_mpipe_alloc_buffer_stacks(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                                   unsigned flags);
size_t gxio_mpipe_calc_buffer_stack_bytes(unsigned long buffers);
size_t gxio_mpipe_buffer_size_enum_to_buffer_size(gxio_mpipe_buffer_size_enum_t size);
gxio_mpipe_buffer_size_enum_t gxio_mpipe_buffer_size_to_buffer_size_enum(size_t size);
int gxio_mpipe_init_buffer_stack(gxio_mpipe_context_t* context, unsigned stack,
                                 gxio_mpipe_buffer_size_enum_t size, void* memory,
                                 size_t memory_size, unsigned flags);
int gxio_mpipe_register_page(gxio_mpipe_context_t* context, unsigned stack, void* page,
                             size_t page_size, unsigned flags);
void gxio_mpipe_push_buffer(gxio_mpipe_context_t* context, unsigned stack, void* buffer);
void* gxio_mpipe_pop_buffer(gxio_mpipe_context_t* context, unsigned stack);
gxio_mpipe_bdesc_t gxio_mpipe_pop_buffer_bdesc(gxio_mpipe_context_t* context, unsigned stack);
int gxio_mpipe_get_buffer_count(gxio_mpipe_context_t* context, unsigned stack);

typedef enum {
  GXIO_MPIPE_BUCKET_DYNAMIC_FLOW_AFFINITY = 0,
  GXIO_MPIPE_BUCKET_STATIC_FLOW_AFFINITY = 1,
  GXIO_MPIPE_BUCKET_ROUND_ROBIN = 2,
  GXIO_MPIPE_BUCKET_STICKY_FLOW_LOCALITY = 3,
  GXIO_MPIPE_BUCKET_PREFER_FLOW_LOCALITY = 7,
} gxio_mpipe_bucket_mode_t;

typedef struct {
  uint64_t ring_mask[4];
} gxio_mpipe_notif_group_bits_t;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
typedef union {
  struct {
    uint64_t notifring : 8, count : 16, group : 5, mode : 3, __reserved : 32;
  };
  uint64_t word;
} gxio_mpipe_bucket_info_t;
#pragma GCC diagnostic pop

int gxio_mpipe_alloc_notif_rings(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                                 unsigned flags);
int gxio_mpipe_alloc_notif_groups(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                                  unsigned flags);
int gxio_mpipe_init_notif_group(gxio_mpipe_context_t* context, unsigned group,
                                gxio_mpipe_notif_group_bits_t bits);
void gxio_mpipe_notif_group_add_ring(gxio_mpipe_notif_group_bits_t* bits, int ring);
int gxio_mpipe_alloc_buckets(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                             unsigned flags);
int gxio_mpipe_init_bucket(gxio_mpipe_context_t* context, unsigned bucket,
                           gxio_mpipe_bucket_info_t info);
int gxio_mpipe_init_notif_group_and_buckets(gxio_mpipe_context_t* context, unsigned group,
                                            unsigned ring, unsigned num_rings, unsigned bucket,
                                            unsigned num_buckets, gxio_mpipe_bucket_mode_t mode);
void gxio_mpipe_credit(gxio_mpipe_context_t* context, int ring, int bucket, unsigned count);

typedef struct {
  gxio_mpipe_context_t* context;
  gxio_mpipe_idesc_t* idescs;
  uint32_t num_entries;
  uint32_t mask_num_entries;
  uint32_t log2_num_entries;
  uint32_t head;
  uint8_t ring;
} gxio_mpipe_iqueue_t;

int gxio_mpipe_iqueue_init(gxio_mpipe_iqueue_t* iqueue, gxio_mpipe_context_t* context,
                           unsigned ring, void* memory, size_t memory_size, unsigned flags);
int gxio_mpipe_iqueue_try_peek(gxio_mpipe_iqueue_t* iqueue, gxio_mpipe_idesc_t** idesc);
void gxio_mpipe_iqueue_advance(gxio_mpipe_iqueue_t* iqueue, int count);

typedef struct {
  uint8_t stacks[8];
} gxio_mpipe_rules_stacks_t;
typedef struct {
  uint8_t octets[6];
} gxio_mpipe_rules_dmac_t;

enum : unsigned { gxio_mpipe_model_rules_max = 31, gxio_mpipe_model_rule_items_max = 32 };
typedef struct {
  uint32_t first_bucket;
  uint32_t bucket_mask;
  uint32_t channels;  // one bit for each; none: all
  int32_t priority;
  uint8_t headroom;
  uint8_t tailroom;
  uint16_t capacity;
  uint8_t stacks[8];
  uint8_t dmac_count;
  uint8_t vlan_count;
  gxio_mpipe_rules_dmac_t dmacs[gxio_mpipe_model_rule_items_max];
  uint16_t vlans[gxio_mpipe_model_rule_items_max];
} gxio_mpipe_model_rule_t;
// About 10 KiB: too large for a small stack.
typedef struct {
  gxio_mpipe_context_t* context;
  uint32_t count;
  int32_t error;
  gxio_mpipe_model_rule_t rules[gxio_mpipe_model_rules_max];
} gxio_mpipe_rules_t;

void gxio_mpipe_rules_init(gxio_mpipe_rules_t* rules, gxio_mpipe_context_t* context);
int gxio_mpipe_rules_begin(gxio_mpipe_rules_t* rules, unsigned bucket, unsigned num_buckets,
                           gxio_mpipe_rules_stacks_t* stacks);
int gxio_mpipe_rules_set_headroom(gxio_mpipe_rules_t* rules, uint8_t headroom);
int gxio_mpipe_rules_set_tailroom(gxio_mpipe_rules_t* rules, uint8_t tailroom);
int gxio_mpipe_rules_set_capacity(gxio_mpipe_rules_t* rules, uint16_t capacity);
int gxio_mpipe_rules_set_priority(gxio_mpipe_rules_t* rules, int priority);
int gxio_mpipe_rules_add_channel(gxio_mpipe_rules_t* rules, unsigned channel);
int gxio_mpipe_rules_add_dmac(gxio_mpipe_rules_t* rules, gxio_mpipe_rules_dmac_t dmac);
int gxio_mpipe_rules_add_vlan(gxio_mpipe_rules_t* rules, uint16_t vlan);
int gxio_mpipe_rules_commit(gxio_mpipe_rules_t* rules);

typedef struct {
  gxio_mpipe_context_t* context;
  gxio_mpipe_edesc_t* edescs;
  uint64_t credits_and_next_index;  // credits above, index of the next slot in the low 24 bits
  uint64_t hw_complete_count;
  uint32_t mask_num_entries;
  uint32_t log2_num_entries;
  uint8_t ering;
  uint8_t channel;
} gxio_mpipe_equeue_t;

int gxio_mpipe_alloc_edma_rings(gxio_mpipe_context_t* context, unsigned count, unsigned first,
                                unsigned flags);
int gxio_mpipe_equeue_init(gxio_mpipe_equeue_t* equeue, gxio_mpipe_context_t* context,
                           unsigned ering, unsigned channel, void* memory, size_t memory_size,
                           unsigned flags);
int64_t gxio_mpipe_equeue_try_reserve(gxio_mpipe_equeue_t* equeue, unsigned count);
int64_t gxio_mpipe_equeue_try_reserve_fast(gxio_mpipe_equeue_t* equeue, unsigned count);
void gxio_mpipe_equeue_put_at(gxio_mpipe_equeue_t* equeue, gxio_mpipe_edesc_t edesc,
                              unsigned long slot);
int gxio_mpipe_equeue_is_complete(gxio_mpipe_equeue_t* equeue, int64_t slot, int update);
int gxio_mpipe_equeue_set_snf_size(gxio_mpipe_equeue_t* equeue, size_t size);

unsigned char* gxio_mpipe_idesc_get_va(gxio_mpipe_idesc_t* idesc);
unsigned char* gxio_mpipe_idesc_get_l2_start(gxio_mpipe_idesc_t* idesc);
unsigned gxio_mpipe_idesc_get_l2_length(gxio_mpipe_idesc_t* idesc);
uint32_t gxio_mpipe_idesc_get_flow_hash(gxio_mpipe_idesc_t* idesc);
uint16_t gxio_mpipe_idesc_get_vlan(gxio_mpipe_idesc_t* idesc);
uint16_t gxio_mpipe_idesc_get_ethertype(gxio_mpipe_idesc_t* idesc);
uint8_t gxio_mpipe_idesc_get_l3_offset(gxio_mpipe_idesc_t* idesc);
uint8_t gxio_mpipe_idesc_get_l4_offset(gxio_mpipe_idesc_t* idesc);
uint8_t gxio_mpipe_idesc_get_status(gxio_mpipe_idesc_t* idesc);
unsigned gxio_mpipe_idesc_has_error(gxio_mpipe_idesc_t* idesc);
unsigned gxio_mpipe_idesc_is_bad(gxio_mpipe_idesc_t* idesc);
void gxio_mpipe_edesc_set_va(gxio_mpipe_edesc_t* edesc, void* va);

typedef struct {
  uint64_t ingress_drops, ingress_drops_no_buf, ingress_drops_ipkt, ingress_drops_cls_lb;
  uint64_t ingress_packets, egress_packets, ingress_bytes, egress_bytes;
} gxio_mpipe_stats_t;
int gxio_mpipe_get_stats(gxio_mpipe_context_t* context, gxio_mpipe_stats_t* stats);
