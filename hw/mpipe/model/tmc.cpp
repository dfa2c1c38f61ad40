// The calls outside the packet engine: memory with a home, cores, the dataplane, the clock.
#include <bit>

#include "hw/mpipe/kit.hpp"
#include "hw/mpipe/model/machine.hpp"

namespace mpipe = lockstep::hw::mpipe;
using mpipe::Machine;

namespace {

// A system call within the dataplane lets ticks interrupt it, or kills the thread in strict mode.
Machine& called_into_the_system() {
  Machine& machine = Machine::current();
  if (machine.thread.flags != 0) {
    machine.sin(mpipe::Sin::system_call);
  }
  return machine;
}

}  // namespace

tmc_alloc_t* tmc_alloc_set_home(tmc_alloc_t* alloc, int home) {
  alloc->home = home;
  return alloc;
}

tmc_alloc_t* tmc_alloc_set_pagesize(tmc_alloc_t* alloc, size_t bytes) {
  constexpr std::size_t largest = 16u << 20;
  std::size_t page = 65'536;
  while (page < bytes && page < largest) {
    page *= 4;
  }
  alloc->pagesize = page;
  return page >= bytes ? alloc : nullptr;
}

size_t tmc_alloc_get_pagesize(tmc_alloc_t* alloc) { return alloc->pagesize; }

void* tmc_alloc_map(tmc_alloc_t* alloc, size_t bytes) {
  Machine& machine = called_into_the_system();
  return machine.memory().obtain(bytes, static_cast<std::uint32_t>(alloc->pagesize), alloc->home);
}

int tmc_alloc_unmap(void* memory, size_t) {
  return called_into_the_system().memory().release(memory) ? 0 : -1;
}

uint64_t get_cycle_count() { return Machine::current().local().ns; }

void __insn_mf() { Machine::current().memory().fence(); }

uint64_t tmc_perf_get_cpu_speed() { return 1'000'000'000; }

int tmc_cpus_get_dataplane_cpus(lockstep_model_cpus_t* cpus) {
  cpus->words[0] = Machine::current().dataplane;
  return 0;
}

int tmc_cpus_count(const lockstep_model_cpus_t* cpus) { return std::popcount(cpus->words[0]); }

int tmc_cpus_find_nth_cpu(const lockstep_model_cpus_t* cpus, unsigned n) {
  std::uint64_t left = cpus->words[0];
  for (unsigned i = 0; i < n; ++i) {
    left &= left - 1;
  }
  return left == 0 ? -1 : std::countr_zero(left);
}

int tmc_cpus_set_my_cpu(int cpu) {
  Machine& machine = called_into_the_system();
  constexpr int cores = 36;
  if (cpu < 0 || cpu >= cores) {
    return -1;
  }
  machine.thread.core = cpu;
  return 0;
}

int set_dataplane(int flags) {
  Machine& machine = Machine::current();
  bool const there =
      machine.thread.core >= 0 && (machine.dataplane >> machine.thread.core & 1) != 0;
  if (flags != 0 && !there) {
    return -1;
  }
  if (flags != 0 && !machine.memory_locked) {
    machine.sin(mpipe::Sin::not_locked);
  }
  machine.thread.flags = flags;
  return 0;
}

namespace lockstep::hw::mpipe {

int lock_memory() {
  called_into_the_system().memory_locked = true;
  return 0;
}

}  // namespace lockstep::hw::mpipe
