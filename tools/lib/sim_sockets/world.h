// Sockets on the hosts of a simulated world, in virtual time, for C.
#ifndef LOCKSTEP_TOOLS_SOCKETS_WORLD_WORLD_H
#define LOCKSTEP_TOOLS_SOCKETS_WORLD_WORLD_H

#include "tools/lib/sockets/sockets.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A world of the simulator: hosts, links with their rates, delays and faults, and the models of its
 * [[app]]s, which run beside the program. sim/README.md describes the file. The same file, seed and
 * calls give the same frames each time, on any machine.
 */
struct lockstep_world;

/*
 * Returns NULL if the file cannot be read or is invalid, or if memory runs out. Then `why`, unless
 * it is NULL, receives one line that names file and line, truncated to `size` octets.
 */
struct lockstep_world* lockstep_world_open(const char* path, uint64_t seed, char* why, size_t size);
/* Frees the world and the sockets of all its hosts. NULL does nothing. */
void lockstep_world_free(struct lockstep_world* world);

/* The sockets of a host; each call returns the same ones. NULL: no host has that name. */
struct lockstep_sockets* lockstep_world_host(struct lockstep_world* world, const char* name);

/*
 * Advances the clock by `ns` nanoseconds. Calls made before take effect at the instant at which
 * they were made. Functions set by lockstep_on_turn() are called in each turn of their host.
 */
void lockstep_world_run(struct lockstep_world* world, uint64_t ns);
/* Nanoseconds since the start of the world. A host's own clock may differ. */
uint64_t lockstep_world_now(const struct lockstep_world* world);
/* A hash of all frames and of all stacks' state: equal for two identical runs. */
uint64_t lockstep_world_fingerprint(const struct lockstep_world* world);

#ifdef __cplusplus
}
#endif

#endif
