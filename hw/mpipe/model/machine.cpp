// The machine's clock, its stacks, and the current machine of calls without a context.
#include "hw/mpipe/model/machine.hpp"

#include "core/units/check.hpp"

namespace lockstep::hw::mpipe {
namespace {

Machine* the_current = nullptr;

}  // namespace

bool Errors::any() const {
  return no_buffer.per_billion != 0 || ring_full.per_billion != 0 || truncated.per_billion != 0 ||
         bad_sum.per_billion != 0 || mispredicted.per_billion != 0 || not_ready.per_billion != 0 ||
         late.per_billion != 0;
}

Machine::Machine(const MachineShape& shape)
    : bucket_table(buckets),
      mac(shape.mac),
      dataplane(shape.dataplane),
      memory_(shape.memory_bytes),
      errors_(shape.errors),
      erring_(shape.errors.any()),
      random_(shape.random.fork("errors")),
      hash_seed_{shape.random.fork("hash").next(), shape.hash, shape.workers} {
  link_up_.fill(true);
}

Machine& Machine::current() {
  CHECK(the_current != nullptr);
  return *the_current;
}

void Machine::copy_from(const Machine& other) {
  stack_table = other.stack_table;
  ring_table = other.ring_table;
  group_table = other.group_table;
  bucket_table = other.bucket_table;
  edma_table = other.edma_table;
  link_table = other.link_table;
  rules = other.rules;
  initialised = other.initialised;
  memory_.copy_from(other.memory_);
  random_ = other.random_;
  link_up_ = other.link_up_;
  times_ = other.times_;
  not_ready_until_ = other.not_ready_until_;
  packets_ = other.packets_;
  last_ring_ = other.last_ring_;
  discarded_ = other.discarded_;
  departures_ = other.departures_;
  sins_ = other.sins_;
  stats_ = other.stats_;
}

void Machine::be_current() { the_current = this; }

bool Machine::chance(Probability probability) {
  return erring_ && probability.per_billion != 0 && random_.chance(probability);
}

void Machine::step(const Times& times) {
  times_ = times;
  complete();
}

std::uint64_t Machine::sins() const {
  std::uint64_t all = 0;
  for (std::uint64_t const each : sins_) {
    all += each;
  }
  return all;
}

std::uint64_t Machine::buffers() const {
  std::uint64_t all = 0;
  for (std::uint32_t i = 1; i < place_count; ++i) {
    all += memory_.count(static_cast<Place>(i));
  }
  return all;
}

bool Machine::registered(std::uint32_t stack, Offset begin, std::uint32_t bytes) const {
  std::uint64_t at = begin.value;
  std::uint64_t const end = at + bytes;
  bool found = stack < stacks && at < memory_.size();
  // A buffer may span pages: each round advances to the end of one.
  while (found && at < end) {
    found = false;
    for (const Memory::Extent& page : stack_table[stack].pages) {
      if (at >= page.base.value && at < std::uint64_t{page.base.value} + page.bytes) {
        at = std::uint64_t{page.base.value} + page.bytes;
        found = true;
        break;
      }
    }
  }
  return found;
}

void Machine::push(std::uint32_t index, Offset base) {
  BufferStack& stack = stack_table[index];
  if (!stack.ready || !registered(index, base, stack.bytes)) {
    sin(Sin::unregistered_push);
    return;
  }
  Place const place = memory_.place_of(base);
  if (place == Place::stack) {
    sin(Sin::double_push);
  } else if (place == Place::ring || place == Place::edma) {
    sin(Sin::push_not_held);
  } else if (stack.free.size() >= stack.capacity) {
    sin(Sin::stack_overflow);
  } else {
    put_in_stack(index, base);
  }
}

void Machine::put_in_stack(std::uint32_t index, Offset base) {
  BufferStack& stack = stack_table[index];
  memory_.move({base, stack.bytes}, Place::stack);
  stack.free.push_back(base);
}

gxio_mpipe_bdesc_t Machine::pop(std::uint32_t index) {
  gxio_mpipe_bdesc_t out{};
  out.c = MPIPE_EDMA_DESC_WORD1__C_VAL_INVALID;
  complete();
  BufferStack& stack = stack_table[index];
  if (times_.now >= not_ready_until_ && chance(errors_.not_ready)) {
    not_ready_until_ = times_.now + errors_.not_ready_for;
  }
  if (times_.now < not_ready_until_) {
    out.c = MPIPE_EDMA_DESC_WORD1__C_VAL_NOT_RDY;
    return out;
  }
  if (!stack.ready || stack.free.empty()) {
    return out;
  }
  Offset const base = stack.free.back();
  stack.free.pop_back();
  memory_.move({base, stack.bytes}, Place::driver);
  set_va(out, Memory::bus_of(base) >> 7);
  out.stack_idx = index & 0x1f;
  out.hwb = 1;
  out.size = static_cast<unsigned>(stack.size) & 7;
  out.c = MPIPE_EDMA_DESC_WORD1__C_VAL_UNCHAINED;
  return out;
}

}  // namespace lockstep::hw::mpipe
