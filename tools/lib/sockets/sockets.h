// BSD-shaped sockets of TCP over a Stack, for C99 and C++: they never block.
#ifndef LOCKSTEP_TOOLS_SOCKETS_SOCKETS_H
#define LOCKSTEP_TOOLS_SOCKETS_SOCKETS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The sockets of one stack. A context is made in C++ (lockstep::tools::Sockets, sockets.hpp) over a
 * stack of the simulator, of hw/poll or of nobody but the caller, or by pair.h; the calls are the
 * same. It is used by one thread, between the turns of its stack or from the function that
 * lockstep_on_turn() has named. Descriptors are the context's own: the kernel does not know them.
 *
 * Every call returns at once. What would block fails with EAGAIN, whatever O_NONBLOCK says: that
 * flag is only kept, so that a layer which steps the clock can wait in a caller's stead. As long as
 * the clock does not move on, neither does a connection.
 *
 * On failure a call returns -1 and sets errno. All of them fail with EBADF if the descriptor is not
 * open, with ENOTSOCK if it is one of epoll and a socket is wanted, and with EFAULT if memory that
 * is needed is NULL. Buffers are only looked at during the call. No signal is ever raised.
 */
struct lockstep_sockets;

/* ---- open, name, close ---- */

/*
 * A socket: `domain` AF_INET or AF_INET6 (EAFNOSUPPORT), `type` SOCK_STREAM (EPROTOTYPE), with
 * SOCK_NONBLOCK and SOCK_CLOEXEC if wanted (other bits: EINVAL), `protocol` 0 or IPPROTO_TCP
 * (EPROTONOSUPPORT). The lowest free descriptor. EMFILE: all are taken. ENOBUFS: as many sockets as
 * the context has room for are open, wait to be accepted, or close still.
 */
int lockstep_socket(struct lockstep_sockets* s, int domain, int type, int protocol);

/*
 * Gives the socket a local name; port 0 draws one. AF_INET6 may name IPv4 as ::ffff:a.b.c.d.
 * EINVAL: it has one, or `length` is too short. EAFNOSUPPORT: the address is of another family.
 * EADDRNOTAVAIL: the address is not the stack's. EADDRINUSE: no port is left, or another socket has
 * this one, unless both have SO_REUSEADDR and that one does not listen.
 */
int lockstep_bind(struct lockstep_sockets* s, int fd, const struct sockaddr* address,
                  socklen_t length);

/*
 * Listens; without a name a port is drawn. Up to `backlog` + 1 connections wait for accept() here,
 * and as many are being opened or wait in the stack. Called again it changes how many wait here.
 * EINVAL: connected or connecting. EADDRINUSE: somebody listens there. ENOBUFS: no listener left.
 */
int lockstep_listen(struct lockstep_sockets* s, int fd, int backlog);

/*
 * The first connection that waits. It has the listener's options. `address` (or NULL) is the peer's
 * name, cut to *length, which becomes its full length. EAGAIN: none waits. EINVAL: not listening,
 * or *length is negative. EMFILE: no descriptor left; the connection waits on.
 */
int lockstep_accept(struct lockstep_sockets* s, int fd, struct sockaddr* address,
                    socklen_t* length);
/* The same; `flags` are SOCK_NONBLOCK and SOCK_CLOEXEC (others: EINVAL). */
int lockstep_accept4(struct lockstep_sockets* s, int fd, struct sockaddr* address,
                     socklen_t* length, int flags);

/*
 * Begins to connect: EINPROGRESS. When it is done the socket is writable, and SO_ERROR is 0 or why
 * it failed. Called again: EALREADY while it goes on; 0 once after it has succeeded, then EISCONN;
 * after a failure its error once, if SO_ERROR did not take it (then ECONNABORTED), and from there
 * the socket can connect anew. AF_UNSPEC aborts what there is, and the socket is as after bind().
 * EINVAL: `length` is too short. EAFNOSUPPORT: another family. EOPNOTSUPP: it listens. ENETUNREACH:
 * no way there, or no host's address. EADDRNOTAVAIL: no port left, port 0, or a local name of the
 * other family. EADDRINUSE: that pair of names is taken. ENOBUFS: no room in the stack.
 */
int lockstep_connect(struct lockstep_sockets* s, int fd, const struct sockaddr* address,
                     socklen_t length);

/*
 * Ends a direction: SHUT_WR sends a FIN behind what is queued; after SHUT_RD reads end once what
 * has come is read. EINVAL: another `how`. ENOTCONN: not connected. A listener stops listening by
 * SHUT_RD or SHUT_RDWR, an attempt to connect is given up.
 */
int lockstep_shutdown(struct lockstep_sockets* s, int fd, int how);

/*
 * Gives the descriptor back, of a socket or of epoll. The connection closes in the background, with
 * a FIN; with a reset if something is unread, or if SO_LINGER is on with 0 seconds. A linger of
 * more is no different from none: who wants to wait steps the clock first and looks at SIOCOUTQ.
 * What waited for accept() is reset.
 */
int lockstep_close(struct lockstep_sockets* s, int fd);

/* The local name, as `address` of accept(). EINVAL: *length is negative. */
int lockstep_getsockname(struct lockstep_sockets* s, int fd, struct sockaddr* address,
                         socklen_t* length);
/* The peer's name. ENOTCONN: none yet, or no longer. */
int lockstep_getpeername(struct lockstep_sockets* s, int fd, struct sockaddr* address,
                         socklen_t* length);

/* ---- text ---- */

/*
 * Takes what has come: the number of octets, 0 after the peer's FIN or SHUT_RD. `flags`: MSG_PEEK
 * leaves them unread; MSG_TRUNC throws them away and needs no buffer; MSG_DONTWAIT, MSG_NOSIGNAL
 * and MSG_WAITALL change nothing; others: EOPNOTSUPP. A read ends before the urgent octet (see
 * SIOCATMARK). MSG_OOB: EINVAL, as urgent text lies in line.
 * EAGAIN: nothing yet. ENOTCONN: never connected, or listening. ECONNRESET, ETIMEDOUT,
 * EHOSTUNREACH ...: the connection has failed; told once, then 0. What was unread then is lost.
 */
ssize_t lockstep_recv(struct lockstep_sockets* s, int fd, void* buffer, size_t size, int flags);
ssize_t lockstep_read(struct lockstep_sockets* s, int fd, void* buffer, size_t size);
/* Into `count` buffers, 1 to 1024 (EINVAL). */
ssize_t lockstep_readv(struct lockstep_sockets* s, int fd, const struct iovec* parts, int count);
/* As recv(); on a connection `address` is left alone and *length becomes 0. */
ssize_t lockstep_recvfrom(struct lockstep_sockets* s, int fd, void* buffer, size_t size, int flags,
                          struct sockaddr* address, socklen_t* length);
/* As recv(), into 1024 parts at most (EMSGSIZE); name and control lengths and flags become 0. */
ssize_t lockstep_recvmsg(struct lockstep_sockets* s, int fd, struct msghdr* message, int flags);

/*
 * Queues octets: as many as there is room for. `flags`: MSG_MORE holds back what fills no segment;
 * MSG_OOB makes all that is queued urgent; MSG_FASTOPEN (sendto, sendmsg) connects and lets the
 * text leave with the SYN; without a cookie of the peer it takes nothing, gives EINPROGRESS,
 * and the SYN asks for one; MSG_EOR ends a record, if all octets are taken: no segment has octets
 * from both sides of its end, and while that is not acknowledged it takes the room of one of the
 * stack's blocks in the send buffer; MSG_DONTWAIT and MSG_NOSIGNAL change nothing; others:
 * EOPNOTSUPP. EAGAIN: no room, or still connecting. ENOTCONN: never connected. EPIPE: our half is
 * shut down, or the connection is over. ECONNRESET ...: it has failed; told once, then EPIPE.
 */
ssize_t lockstep_send(struct lockstep_sockets* s, int fd, const void* buffer, size_t size,
                      int flags);
ssize_t lockstep_write(struct lockstep_sockets* s, int fd, const void* buffer, size_t size);
/* From `count` buffers, 1 to 1024 (EINVAL). */
ssize_t lockstep_writev(struct lockstep_sockets* s, int fd, const struct iovec* parts, int count);
/* As send(); without MSG_FASTOPEN `address` is ignored. */
ssize_t lockstep_sendto(struct lockstep_sockets* s, int fd, const void* buffer, size_t size,
                        int flags, const struct sockaddr* address, socklen_t length);
/* As sendto(), from 1024 parts at most (EMSGSIZE). Control data: EINVAL. */
ssize_t lockstep_sendmsg(struct lockstep_sockets* s, int fd, const struct msghdr* message,
                         int flags);

/* ---- options ---- */

/*
 * README.md lists them by name. What is not supported gives ENOPROTOOPT, as does setting what can
 * only be read. EINVAL: a value out of range, or *length too short. EFAULT: NULL. EDOM: a timeout's
 * microseconds are out of range. ENOENT: no such congestion control. EOPNOTSUPP: the stack has
 * Fast Open off.
 */
int lockstep_getsockopt(struct lockstep_sockets* s, int fd, int level, int name, void* value,
                        socklen_t* length);
int lockstep_setsockopt(struct lockstep_sockets* s, int fd, int level, int name, const void* value,
                        socklen_t length);

/*
 * F_GETFL and F_SETFL (O_NONBLOCK is kept, see above; O_RDWR stands), F_GETFD and F_SETFD
 * (FD_CLOEXEC is kept). EINVAL: any other command.
 */
int lockstep_fcntl(struct lockstep_sockets* s, int fd, int command, int argument);

/*
 * SIOCINQ (FIONREAD): octets that can be read; EINVAL: listening. SIOCOUTQ (TIOCOUTQ): octets that
 * are queued and not acknowledged. SIOCOUTQNSD: of these, the ones that were never sent.
 * SIOCATMARK: the next octet to read is the urgent one. FIONBIO: O_NONBLOCK from an int. `argument`
 * is an int*. ENOTTY: any other request.
 */
int lockstep_ioctl(struct lockstep_sockets* s, int fd, unsigned long request, void* argument);

/* TCP_INFO: Linux's struct tcp_info, octet for octet; README.md says what each field is here. */
struct lockstep_tcp_info {
  uint8_t tcpi_state;    /* 1 ESTABLISHED, 2 SYN_SENT, ... 10 LISTEN, 11 CLOSING */
  uint8_t tcpi_ca_state; /* 0 open, 1 disorder, 3 recovery, 4 loss */
  uint8_t tcpi_retransmits;
  uint8_t tcpi_probes;
  uint8_t tcpi_backoff;
  uint8_t tcpi_options; /* 1 timestamps, 2 SACK, 4 window scale, 8 ECN, 32 text came in the SYN */
  uint8_t tcpi_wscale;  /* of sending in the low four bits, of receiving in the high four */
  uint8_t tcpi_flags;   /* 1: the delivery rate was limited by the application */
  uint32_t tcpi_rto;    /* microseconds, as all times that do not say otherwise */
  uint32_t tcpi_ato;
  uint32_t tcpi_snd_mss;
  uint32_t tcpi_rcv_mss;
  uint32_t tcpi_unacked; /* segments, as the next four */
  uint32_t tcpi_sacked;
  uint32_t tcpi_lost;
  uint32_t tcpi_retrans;
  uint32_t tcpi_fackets;
  uint32_t tcpi_last_data_sent; /* milliseconds ago, as the next three */
  uint32_t tcpi_last_ack_sent;
  uint32_t tcpi_last_data_recv;
  uint32_t tcpi_last_ack_recv;
  uint32_t tcpi_pmtu;
  uint32_t tcpi_rcv_ssthresh;
  uint32_t tcpi_rtt;
  uint32_t tcpi_rttvar;
  uint32_t tcpi_snd_ssthresh; /* segments; 0x7fffffff: none yet */
  uint32_t tcpi_snd_cwnd;     /* segments */
  uint32_t tcpi_advmss;
  uint32_t tcpi_reordering;
  uint32_t tcpi_rcv_rtt;
  uint32_t tcpi_rcv_space;
  uint32_t tcpi_total_retrans;
  uint64_t tcpi_pacing_rate; /* octets a second, as the next; all ones: unlimited */
  uint64_t tcpi_max_pacing_rate;
  uint64_t tcpi_bytes_acked;
  uint64_t tcpi_bytes_received;
  uint32_t tcpi_segs_out;
  uint32_t tcpi_segs_in;
  uint32_t tcpi_notsent_bytes;
  uint32_t tcpi_min_rtt;
  uint32_t tcpi_data_segs_in;
  uint32_t tcpi_data_segs_out;
  uint64_t tcpi_delivery_rate;
  uint64_t tcpi_busy_time;
  uint64_t tcpi_rwnd_limited;
  uint64_t tcpi_sndbuf_limited;
  uint32_t tcpi_delivered;
  uint32_t tcpi_delivered_ce;
  uint64_t tcpi_bytes_sent;
  uint64_t tcpi_bytes_retrans;
  uint32_t tcpi_dsack_dups;
  uint32_t tcpi_reord_seen;
  uint32_t tcpi_rcv_ooopack;
  uint32_t tcpi_snd_wnd; /* octets, as the next */
  uint32_t tcpi_rcv_wnd;
  uint32_t tcpi_rehash;
  uint16_t tcpi_total_rto;
  uint16_t tcpi_total_rto_recoveries;
  uint32_t tcpi_total_rto_time;
};

/* ---- readiness ---- */

/*
 * Writes what is ready now into each revents and returns how many are not 0. A negative fd is
 * skipped, one that is not open gives POLLNVAL. EINVAL: more entries than there are descriptors.
 */
int lockstep_poll(struct lockstep_sockets* s, struct pollfd* entries, nfds_t count);

/* An epoll descriptor. `flags`: EPOLL_CLOEXEC or 0 (EINVAL). EMFILE, ENOMEM: none is left. */
int lockstep_epoll_create1(struct lockstep_sockets* s, int flags);
/* The same; `size` must be positive (EINVAL). */
int lockstep_epoll_create(struct lockstep_sockets* s, int size);

/*
 * EPOLL_CTL_ADD, MOD and DEL. Events: EPOLLIN, OUT, PRI, RDHUP, RDNORM, WRNORM, ET, ONESHOT; ERR
 * and HUP always. EEXIST, ENOENT: it is watched already, or not. EINVAL: `epfd` is no epoll, or is
 * `fd`, or another operation or event. EPERM: `fd` is an epoll. ENOSPC: as many are watched as the
 * context has room for. A socket that is closed is watched no more.
 */
int lockstep_epoll_ctl(struct lockstep_sockets* s, int epfd, int operation, int fd,
                       struct epoll_event* event);

/*
 * Writes up to `count` (1 and up, EINVAL) of what is ready now, and returns how many. With EPOLLET
 * a socket is told again once something more has happened to it: text has come, or room after a
 * send that was refused; with EPOLLONESHOT after EPOLL_CTL_MOD. Those that are told go behind the
 * others. EINVAL: `epfd` is no epoll.
 */
int lockstep_epoll_wait(struct lockstep_sockets* s, int epfd, struct epoll_event* events,
                        int count);

/* ---- time ---- */

/* Nanoseconds of the stack's clock. */
uint64_t lockstep_now(const struct lockstep_sockets* s);

/*
 * `function` is called with `user` once in each turn of the stack, after everything that has
 * happened is known: an application that lives there is the same in simulation and on hardware.
 * NULL: none. It may make any call.
 */
typedef void (*lockstep_turn_function)(struct lockstep_sockets* s, void* user);
void lockstep_on_turn(struct lockstep_sockets* s, lockstep_turn_function function, void* user);

/* A turn is wanted at `ns` of the clock, though nothing may happen; UINT64_MAX: none. */
void lockstep_wake_at(struct lockstep_sockets* s, uint64_t ns);

#ifdef __cplusplus
}
#endif

#endif
