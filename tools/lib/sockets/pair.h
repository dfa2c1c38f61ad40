// Two stacks joined by a wire in memory, in virtual time, each with its sockets, for C.
#ifndef LOCKSTEP_TOOLS_SOCKETS_PAIR_H
#define LOCKSTEP_TOOLS_SOCKETS_PAIR_H

#include "tools/lib/sockets/sockets.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * 10.0.0.1 and fd00::1 on the left, 10.0.0.2 and fd00::2 on the right. Nothing is lost on the wire,
 * frames are 1500 octets long at most. The same calls give the same frames each time.
 */
struct lockstep_pair;

/* NULL: no memory. Each of the two stacks takes some 20 MiB. */
struct lockstep_pair* lockstep_pair_new(void);
/* The sockets of both end with it. NULL: nothing. */
void lockstep_pair_free(struct lockstep_pair* pair);

struct lockstep_sockets* lockstep_pair_left(struct lockstep_pair* pair);
struct lockstep_sockets* lockstep_pair_right(struct lockstep_pair* pair);

/*
 * Lets `ns` nanoseconds pass. A frame is on the wire for a microsecond; where nothing happens the
 * clock goes on to the next timer.
 */
void lockstep_pair_run(struct lockstep_pair* pair, uint64_t ns);

#ifdef __cplusplus
}
#endif

#endif
