// Sockets on the hosts of a simulated world, in virtual time, for C.
#ifndef LOCKSTEP_TOOLS_SOCKETS_WORLD_WORLD_H
#define LOCKSTEP_TOOLS_SOCKETS_WORLD_WORLD_H

#include "tools/lib/sockets/sockets.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A world of the simulator: hosts, links with their rates, delays and faults, and the models of its
 * [[app]]s, which run beside the program. sim/README.md says what stands in its file. The same
 * file, seed and calls give the same frames each time, on any machine.
 */
struct lockstep_world;

/*
 * NULL: the file cannot be read or is wrong, or there is no memory; then `why` holds one line, cut
 * to `size` octets, which names file and line, unless it is NULL.
 */
struct lockstep_world* lockstep_world_open(const char* path, uint64_t seed, char* why, size_t size);
/* The sockets of all hosts end with it. NULL: nothing. */
void lockstep_world_free(struct lockstep_world* world);

/* The sockets of a host; always the same ones. NULL: no host has that name. */
struct lockstep_sockets* lockstep_world_host(struct lockstep_world* world, const char* name);

/*
 * Lets `ns` nanoseconds pass. Calls made before take effect at the instant at which they were made.
 * Functions named by lockstep_on_turn() are called in each turn of their host.
 */
void lockstep_world_run(struct lockstep_world* world, uint64_t ns);
/* Nanoseconds since the beginning of the world. A host's own clock may show something else. */
uint64_t lockstep_world_now(const struct lockstep_world* world);
/* Of all frames and all that the stacks hold: equal in two runs that went the same way. */
uint64_t lockstep_world_fingerprint(const struct lockstep_world* world);

#ifdef __cplusplus
}
#endif

#endif
