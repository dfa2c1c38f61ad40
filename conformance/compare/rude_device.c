// A device that breaks its interface, for tests: its deadline is always over, listen() ends the
// process, and connect() never returns.
#include <stdio.h>
#include <stdlib.h>

#include "conformance/devices/device.h"

static int made;

static struct lockstep_device* create(const struct lockstep_device_setup* setup, char* why,
                                      size_t room) {
  (void)setup, (void)why, (void)room;
  return (struct lockstep_device*)&made;
}
static void destroy(struct lockstep_device* d) { (void)d; }
static void advance(struct lockstep_device* d, uint64_t now) { (void)d, (void)now; }
static uint64_t deadline(struct lockstep_device* d) {
  (void)d;
  return 0;
}
static void packet_in(struct lockstep_device* d, const void* packet, size_t length) {
  (void)d, (void)packet, (void)length;
}
static size_t packet_out(struct lockstep_device* d, void* packet, size_t room) {
  (void)d, (void)packet, (void)room;
  return 0;
}
static int64_t listen(struct lockstep_device* d, uint16_t port, uint32_t backlog) {
  (void)d, (void)port, (void)backlog;
  fputs("it does not like ports\n", stderr);
  abort();
}
static int64_t connect(struct lockstep_device* d, uint16_t local_port, uint16_t remote_port) {
  (void)local_port, (void)remote_port;
  while (*(volatile int*)d == 0) {
  }
  return 1;
}
static int64_t handle(struct lockstep_device* d, int64_t of) {
  (void)d, (void)of;
  return LOCKSTEP_DEVICE_GONE;
}
static int64_t send(struct lockstep_device* d, int64_t of, const void* data, size_t length) {
  (void)d, (void)of, (void)data, (void)length;
  return LOCKSTEP_DEVICE_GONE;
}
static int64_t receive(struct lockstep_device* d, int64_t of, void* data, size_t room) {
  (void)d, (void)of, (void)data, (void)room;
  return LOCKSTEP_DEVICE_GONE;
}

const struct lockstep_device_calls* lockstep_device_entry(void) {
  static const struct lockstep_device_calls calls = {
      .version = LOCKSTEP_DEVICE_VERSION,
      .name = "rude",
      .stack = "none",
      .abilities = "ipv4 deterministic renewable",
      .timer_grain = 1,
      .create = create,
      .destroy = destroy,
      .advance = advance,
      .deadline = deadline,
      .packet_in = packet_in,
      .packet_out = packet_out,
      .listen = listen,
      .accept = handle,
      .connect = connect,
      .send = send,
      .receive = receive,
      .finish = handle,
      .close = handle,
  };
  return &calls;
}
