// A stack on a network interface, or on a driver of the caller's own, for C99 and C++.
#ifndef LOCKSTEP_TOOLS_HOST_HOST_H
#define LOCKSTEP_TOOLS_HOST_HOST_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/lib/sockets/sockets.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A host is one stack, the interface below it, its sockets, and the loop that runs them. One thread
 * uses a host and its sockets; only lockstep_host_stop() may be called from elsewhere. Any number
 * of hosts may be open.
 *
 * Times are nanoseconds of the host's clock, which lockstep_now() also shows: it begins at one
 * second when the host is opened on an interface, and is the driver's own with
 * lockstep_host_on_driver(). errno means nothing after a call of this file.
 *
 * ABI: structures that cross this interface are opaque, or begin with their size, so that a program
 * need not be compiled anew for a later version in which only functions, options and members at
 * the end of a structure were added. Until version 1.0 other changes are possible;
 * tools/dev/CHANGELOG.md lists them.
 */
struct lockstep_host;

/* ---- open and close ---- */

/*
 * Opens a stack on a Linux interface. `options` are texts NAME=VALUE, with NULL after the last; the
 * calls keep no pointer to them. README.md lists all names. For example:
 *
 *   const char* options[] = {"tap=lock0", "host=10.9.0.1/24", "address=10.9.0.2/24", NULL};
 *
 * NULL: an option is wrong, or something is missing on this machine; lockstep_host_error(NULL) says
 * what. Nothing is left behind then. The keys are drawn from the system's entropy.
 */
struct lockstep_host* lockstep_host_open(const char* const* options);

/*
 * A network interface as a table of functions. `user` is passed to each of them. They are called by
 * the thread that runs the host, and may not call the host.
 */
struct lockstep_driver {
  /* sizeof(struct lockstep_driver). Members beyond this size count as NULL. */
  size_t size;
  void* user;
  /* The time in nanoseconds: never less than before, at least 1,000,000,000 (one second). */
  uint64_t (*now)(void* user);
  /*
   * Copies one received frame into `frame`, which has `room` octets, and returns its length; 0: no
   * frame waits. A frame that is longer than `room` is to be discarded. The stack verifies the
   * checksums.
   */
  size_t (*poll)(void* user, void* frame, size_t room);
  /*
   * Sends one frame, which is valid only during the call, with all checksums filled in. 1: it was
   * sent, or is lost. 0: there is no room now; the same frame is offered again later.
   */
  int (*send)(void* user, const void* frame, size_t length);
  /*
   * Returns when a frame has arrived, at the time `until` (UINT64_MAX: never), or if `for_room` is
   * not 0 when a frame can be sent; or earlier. NULL: see `descriptor`.
   */
  void (*wait)(void* user, uint64_t until, int for_room);
  /*
   * A file descriptor that is readable when a frame has arrived and writable when there is room. If
   * `wait` is NULL, the host sleeps in poll(2) on it. NULL, or a result of -1: there is none; if
   * `wait` is NULL as well, the host never sleeps.
   */
  int (*descriptor)(void* user);
};

/*
 * Opens a stack on the driver. The table is copied; what `user` points to must live as long as the
 * host. The options are those of lockstep_host_open() except for the names of interfaces. NULL: as
 * there.
 */
struct lockstep_host* lockstep_host_on_driver(const struct lockstep_driver* driver,
                                              const char* const* options);

/*
 * Ends the host and its sockets, and restores the settings of a TAP that existed before. Open
 * connections vanish without a segment: to close them, first run until lockstep_host_stop() has
 * done so. NULL does nothing.
 */
void lockstep_host_close(struct lockstep_host* host);

/*
 * One line that says why the last call failed: what was wrong, what was expected, and what to do.
 * NULL for `host`: why this thread's last lockstep_host_open() or lockstep_host_on_driver() failed.
 * Empty if nothing failed. Valid until the next call for that host (NULL: of this thread).
 */
const char* lockstep_host_error(const struct lockstep_host* host);

/*
 * The addresses and the interface in a few words, as "10.9.0.2/24 on the TAP lock0, MTU 1500".
 * Valid until the host is closed.
 */
const char* lockstep_host_description(const struct lockstep_host* host);

/* The sockets of the stack, for the calls of sockets.h. They end with the host. */
struct lockstep_sockets* lockstep_host_sockets(struct lockstep_host* host);

/* ---- run ---- */

/*
 * Runs turns, and sleeps while there is nothing to do, until lockstep_host_stop(). The program's
 * own work is done in the function that lockstep_on_turn() names.
 *
 *   0  stopped: everything that was open has been closed
 *   1  stopped: after the grace period, or at a second stop, connections were aborted
 *  -1  the interface was deleted (lockstep_host_error() says which)
 */
int lockstep_host_run(struct lockstep_host* host);

/*
 * Requests the end: all sockets are closed as if by lockstep_close(), the function of
 * lockstep_on_turn() is no longer called, and the host ends when the peers have acknowledged that.
 * After the option `grace` (5 s), or at a second request, what is left is aborted. May be called
 * from any thread and from a signal handler. It also ends a sleep, except in a driver's `wait`.
 */
void lockstep_host_stop(struct lockstep_host* host);

/*
 * From now on SIGINT and SIGTERM call lockstep_host_stop() instead of ending the process, until the
 * host is closed. Only one host of a process may do so: for several, install a handler that stops
 * them all. 0, or -1 and lockstep_host_error().
 */
int lockstep_host_stop_on_signals(struct lockstep_host* host);

/* ---- run in a loop of one's own ---- */

/*
 * Runs one turn: frames in, timers, the function of lockstep_on_turn(), frames out. If there was
 * nothing to do it waits up to `timeout` nanoseconds (negative: without limit; 0: not at all) for
 * the next frame or deadline, and runs one more turn.
 *
 *   1  something was done: call again before you wait, there may be more
 *   0  nothing can be done before the next frame, deadline, or call on a socket
 *  -1  over: stopped as requested, or the interface was deleted; lockstep_host_error() says which
 */
int lockstep_host_turn(struct lockstep_host* host, int64_t timeout);

/*
 * Fills an entry for poll(2), and returns its timeout in milliseconds, rounded up: -1 without
 * limit, 0 if a turn is due now. Call it after a turn that returned 0, and after the last call on a
 * socket; when poll(2) returns, whatever the reason, run the next turn. `fd` is -1 if the driver
 * has no descriptor.
 */
int lockstep_host_prepare(struct lockstep_host* host, struct pollfd* entry);

/* When the next turn is due even if no frame arrives; UINT64_MAX: never. As
 * lockstep_host_prepare(), but exact, for clocks that are not the machine's. */
uint64_t lockstep_host_deadline(const struct lockstep_host* host);

#ifdef __cplusplus
}
#endif

#endif
