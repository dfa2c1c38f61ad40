// Two stacks joined by a wire in memory, in virtual time, each with its sockets, for C.
#ifndef LOCKSTEP_TOOLS_SOCKETS_PAIR_H
#define LOCKSTEP_TOOLS_SOCKETS_PAIR_H

#include "tools/lib/sockets/sockets.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The left side has 10.0.0.1 and fd00::1, the right side 10.0.0.2 and fd00::2. The wire loses
 * nothing and carries packets of up to 1500 octets. The same calls give the same frames each time.
 */
struct lockstep_pair;

/* NULL: out of memory. Each of the two stacks takes about 20 MiB. */
struct lockstep_pair* lockstep_pair_new(void);
/* Frees the pair and the sockets of both sides. NULL does nothing. */
void lockstep_pair_free(struct lockstep_pair* pair);

/* The sockets of 10.0.0.1. They end with the pair. */
struct lockstep_sockets* lockstep_pair_left(struct lockstep_pair* pair);
/* The sockets of 10.0.0.2. They end with the pair. */
struct lockstep_sockets* lockstep_pair_right(struct lockstep_pair* pair);

/*
 * Advances the clock by `ns` nanoseconds. A frame takes a microsecond to cross the wire; while
 * nothing happens, the clock jumps to the next timer.
 */
void lockstep_pair_run(struct lockstep_pair* pair, uint64_t ns);

#ifdef __cplusplus
}
#endif

#endif
