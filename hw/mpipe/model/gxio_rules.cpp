// The classifier's rules: begun, filled and committed as a list that replaces the previous one.
#include <algorithm>
#include <bit>

#include "hw/mpipe/model/machine.hpp"

namespace mpipe = lockstep::hw::mpipe;
using mpipe::Machine;

namespace {

constexpr std::uint8_t next_larger = 255;
constexpr unsigned buckets_a_rule_max = 4'096;
constexpr unsigned channels_max = 32;

// An error is kept: commit returns it too.
int fail(gxio_mpipe_rules_t* rules, int error) {
  rules->error = error;
  return error;
}

}  // namespace

void gxio_mpipe_rules_init(gxio_mpipe_rules_t* rules, gxio_mpipe_context_t* context) {
  *rules = {};
  rules->context = context;
}

int gxio_mpipe_rules_begin(gxio_mpipe_rules_t* rules, unsigned bucket, unsigned num_buckets,
                           gxio_mpipe_rules_stacks_t* stacks) {
  if (rules->count == gxio_mpipe_model_rules_max) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_FULL);
  }
  if (!std::has_single_bit(num_buckets) || num_buckets > buckets_a_rule_max ||
      bucket > Machine::buckets - num_buckets) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_INVALID);
  }
  gxio_mpipe_model_rule_t& rule = rules->rules[rules->count];
  rule = {};
  rule.first_bucket = bucket;
  rule.bucket_mask = num_buckets - 1;
  rule.headroom = 2;
  const std::uint8_t* const chosen = stacks != nullptr ? stacks->stacks : rules->context->__stacks;
  std::copy_n(chosen, 8, rule.stacks);
  // Size classes above the largest stack are removed; without any stack there is no rule.
  int largest = 7;
  while (largest >= 0 && rule.stacks[largest] == next_larger) {
    --largest;
  }
  if (largest < 0) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_INVALID);
  }
  rule.capacity = static_cast<std::uint16_t>(
      gxio_mpipe_buffer_size_enum_to_buffer_size(gxio_mpipe_buffer_size_enum_t(largest)));
  ++rules->count;
  return 0;
}

int gxio_mpipe_rules_set_headroom(gxio_mpipe_rules_t* rules, uint8_t headroom) {
  if (rules->count == 0) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_EMPTY);
  }
  rules->rules[rules->count - 1].headroom = headroom;
  return 0;
}

int gxio_mpipe_rules_set_tailroom(gxio_mpipe_rules_t* rules, uint8_t tailroom) {
  if (rules->count == 0) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_EMPTY);
  }
  rules->rules[rules->count - 1].tailroom = tailroom;
  return 0;
}

int gxio_mpipe_rules_set_capacity(gxio_mpipe_rules_t* rules, uint16_t capacity) {
  if (rules->count == 0) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_EMPTY);
  }
  rules->rules[rules->count - 1].capacity = capacity;
  return 0;
}

int gxio_mpipe_rules_set_priority(gxio_mpipe_rules_t* rules, int priority) {
  if (rules->count == 0) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_EMPTY);
  }
  rules->rules[rules->count - 1].priority = priority;
  return 0;
}

int gxio_mpipe_rules_add_channel(gxio_mpipe_rules_t* rules, unsigned channel) {
  if (rules->count == 0) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_EMPTY);
  }
  if (channel >= channels_max) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_INVALID);
  }
  rules->rules[rules->count - 1].channels |= 1u << channel;
  return 0;
}

int gxio_mpipe_rules_add_dmac(gxio_mpipe_rules_t* rules, gxio_mpipe_rules_dmac_t dmac) {
  if (rules->count == 0) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_EMPTY);
  }
  gxio_mpipe_model_rule_t& rule = rules->rules[rules->count - 1];
  if (rule.dmac_count == gxio_mpipe_model_rule_items_max) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_FULL);
  }
  rule.dmacs[rule.dmac_count++] = dmac;
  return 0;
}

int gxio_mpipe_rules_add_vlan(gxio_mpipe_rules_t* rules, uint16_t vlan) {
  if (rules->count == 0) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_EMPTY);
  }
  gxio_mpipe_model_rule_t& rule = rules->rules[rules->count - 1];
  if (rule.vlan_count == gxio_mpipe_model_rule_items_max) {
    return fail(rules, GXIO_MPIPE_ERR_RULES_FULL);
  }
  rule.vlans[rule.vlan_count++] = vlan;
  return 0;
}

int gxio_mpipe_rules_commit(gxio_mpipe_rules_t* rules) {
  if (rules->error < 0) {
    return rules->error;
  }
  Machine& machine = *rules->context->machine;
  for (unsigned i = 0; i < rules->count; ++i) {
    gxio_mpipe_model_rule_t const& rule = rules->rules[i];
    for (unsigned b = 0; b <= rule.bucket_mask; ++b) {
      if (!machine.bucket_table[rule.first_bucket + b].ready) {
        return GXIO_MPIPE_ERR_BAD_BUCKET;
      }
    }
  }
  machine.rules.assign(rules->rules, rules->rules + rules->count);
  return 0;
}
