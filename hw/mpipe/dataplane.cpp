// Binds the thread, locks memory, then disables timer ticks.
#include "hw/mpipe/dataplane.hpp"

#include "core/units/check.hpp"

namespace lockstep::hw {

MpipeTrouble settle_on_core(const Mpipe& engine, MpipePort::Worker worker) {
  CHECK(engine.is_open() && engine.shape().dataplane);
  CHECK(worker.value < engine.shape().workers.value);
  if (int const bound = tmc_cpus_set_my_cpu(engine.core(worker.value)); bound < 0) {
    return {"binding a worker to its core", bound};
  }
  int const locked = mpipe::lock_memory();
  return locked < 0 ? MpipeTrouble{"locking memory", locked} : MpipeTrouble{};
}

MpipeTrouble enter_dataplane() {
  int const entered = set_dataplane(DP_QUIESCE);
  return entered < 0 ? MpipeTrouble{"entering the dataplane", entered} : MpipeTrouble{};
}

MpipeTrouble leave_dataplane() {
  int const left = set_dataplane(0);
  return left < 0 ? MpipeTrouble{"leaving the dataplane", left} : MpipeTrouble{};
}

}  // namespace lockstep::hw
