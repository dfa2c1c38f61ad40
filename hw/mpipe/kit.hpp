// The vendor's interface: the headers of its kit if present, otherwise those of our model.
#pragma once

#include <cstdint>

#ifdef LOCKSTEP_MPIPE_KIT
#include <arch/cycle.h>
#include <gxio/mpipe.h>
#include <sys/dataplane.h>
#include <sys/mman.h>
#include <tmc/alloc.h>
#include <tmc/cpus.h>
#include <tmc/perf.h>
#else
#include "hw/mpipe/model/arch/cycle.h"
#include "hw/mpipe/model/gxio/mpipe.h"
#include "hw/mpipe/model/sys/dataplane.h"
#include "hw/mpipe/model/tmc/alloc.h"
#include "hw/mpipe/model/tmc/cpus.h"
#include "hw/mpipe/model/tmc/perf.h"
#endif

namespace lockstep::hw::mpipe {

// The kit has no call for addresses in these two descriptors. CpuSet and memory locking are not the
// kit's.
#ifdef LOCKSTEP_MPIPE_KIT
using CpuSet = cpu_set_t;
inline int lock_memory() { return mlockall(MCL_CURRENT); }
inline unsigned char* buffer_of(gxio_mpipe_bdesc_t bdesc) {
  return reinterpret_cast<unsigned char*>(static_cast<std::intptr_t>(bdesc.va) * 128);
}
inline unsigned char* next_of_chain(std::uint64_t word) {
  gxio_mpipe_idesc_t idesc{};
  idesc.words[7] = word;
  return reinterpret_cast<unsigned char*>(static_cast<std::intptr_t>(idesc.va));
}
#else
using CpuSet = lockstep_model_cpus_t;
int lock_memory();
unsigned char* buffer_of(gxio_mpipe_bdesc_t bdesc);
unsigned char* next_of_chain(std::uint64_t word);
#endif

}  // namespace lockstep::hw::mpipe
