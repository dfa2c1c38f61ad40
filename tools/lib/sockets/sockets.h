// BSD sockets for TCP over a Stack, for C99 and C++; no call ever blocks.
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
 * The sockets of one stack. A context is made by pair.h, or in C++ (lockstep::tools::Sockets in
 * sockets.hpp) over a stack of the simulator, of hw/poll or of the caller; the calls are the same.
 * It is used by one thread, between the turns of its stack or from the function set by
 * lockstep_on_turn(). Descriptors belong to the context and are unknown to the kernel.
 *
 * Every call returns at once. A call that would block fails with EAGAIN whether or not O_NONBLOCK
 * is set; the flag is only stored, for a layer that advances the clock and blocks on the caller's
 * behalf. Connections make progress only while the clock advances.
 *
 * On failure a call returns -1 and sets errno. Every call fails with EBADF if the descriptor is not
 * open, with ENOTSOCK if it is an epoll and a socket is required, and with EFAULT if a required
 * pointer is NULL. Buffers are accessed only during the call. No signal is ever raised.
 */
struct lockstep_sockets;

/* ---- open, name, close ---- */

/*
 * Makes a socket: `domain` AF_INET or AF_INET6 (EAFNOSUPPORT), `type` SOCK_STREAM (EPROTOTYPE),
 * with optional SOCK_NONBLOCK and SOCK_CLOEXEC (other bits: EINVAL), `protocol` 0 or IPPROTO_TCP
 * (EPROTONOSUPPORT). Returns the lowest free descriptor. EMFILE: none is free. ENOBUFS: the
 * context's sockets are all open, waiting for accept(), or still closing.
 */
int lockstep_socket(struct lockstep_sockets* s, int domain, int type, int protocol);

/*
 * Binds the socket to a local name; port 0 draws a port. AF_INET6 may name IPv4 as ::ffff:a.b.c.d.
 * EINVAL: already bound, or `length` is too short. EAFNOSUPPORT: the address is of another family.
 * EADDRNOTAVAIL: the address is not the stack's. EADDRINUSE: no port is left, or another socket is
 * bound to this name, unless both have SO_REUSEADDR and the other does not listen.
 */
int lockstep_bind(struct lockstep_sockets* s, int fd, const struct sockaddr* address,
                  socklen_t length);

/*
 * Listens; an unbound socket gets a drawn port. Up to `backlog` + 1 connections wait for accept()
 * in the socket, and as many again are in the handshake or wait in the stack. A second call changes
 * the backlog of the socket. EINVAL: connected or connecting. EADDRINUSE: another socket listens on
 * the name. ENOBUFS: the stack has no listener left.
 */
int lockstep_listen(struct lockstep_sockets* s, int fd, int backlog);

/*
 * Accepts the first connection that waits. It inherits the listener's options. `address` (may be
 * NULL) receives the peer's name, truncated to *length; *length becomes its full length. EAGAIN: no
 * connection waits. EINVAL: not listening, or *length is negative. EMFILE: no descriptor is left;
 * the connection stays in the queue.
 */
int lockstep_accept(struct lockstep_sockets* s, int fd, struct sockaddr* address,
                    socklen_t* length);
/* As accept(); `flags` are SOCK_NONBLOCK and SOCK_CLOEXEC (others: EINVAL). */
int lockstep_accept4(struct lockstep_sockets* s, int fd, struct sockaddr* address,
                     socklen_t* length, int flags);

/*
 * Begins to connect: EINPROGRESS. When the attempt ends the socket is writable, and SO_ERROR is 0
 * or the error. Further calls return EALREADY during the attempt; after success 0 once, then
 * EISCONN; after a failure the error once (ECONNABORTED if SO_ERROR has already returned it), after
 * which the socket can connect anew. AF_UNSPEC aborts the connection, and the socket is as after
 * bind(). EINVAL: `length` is too short. EAFNOSUPPORT: another family. EOPNOTSUPP: it listens.
 * ENETUNREACH: no route, or not the address of a host. EADDRNOTAVAIL: no port left, port 0, or a
 * local name of the other family. EADDRINUSE: that pair of names is in use. ENOBUFS: no room in the
 * stack.
 */
int lockstep_connect(struct lockstep_sockets* s, int fd, const struct sockaddr* address,
                     socklen_t length);

/*
 * Closes one direction or both: SHUT_WR sends a FIN after the queued data; after SHUT_RD reads
 * return the data already received, then 0. On a listener SHUT_RD and SHUT_RDWR end listening; an
 * attempt to connect is aborted whatever `how` is. EINVAL: another `how`. ENOTCONN: not connected.
 */
int lockstep_shutdown(struct lockstep_sockets* s, int fd, int how);

/*
 * Closes a descriptor of a socket or an epoll. The connection closes in the background with a FIN,
 * or with a reset if received data is unread or SO_LINGER is on with 0 seconds. A longer linger has
 * no effect: to wait for delivery, advance the clock until SIOCOUTQ is 0 before closing. Closing a
 * listener resets the connections that wait for accept().
 */
int lockstep_close(struct lockstep_sockets* s, int fd);

/* The local name, written as accept() writes `address`. EINVAL: *length is negative. */
int lockstep_getsockname(struct lockstep_sockets* s, int fd, struct sockaddr* address,
                         socklen_t* length);
/* The peer's name. ENOTCONN: not connected yet, or no longer. */
int lockstep_getpeername(struct lockstep_sockets* s, int fd, struct sockaddr* address,
                         socklen_t* length);

/* ---- data ---- */

/*
 * Reads received data: returns the number of octets, or 0 after the peer's FIN or SHUT_RD. `flags`:
 * MSG_PEEK leaves the data unread; MSG_TRUNC discards it and needs no buffer; MSG_DONTWAIT,
 * MSG_NOSIGNAL and MSG_WAITALL change nothing; others: EOPNOTSUPP. A read ends before the urgent
 * octet (see SIOCATMARK). MSG_OOB: EINVAL, because urgent data is in the stream; in profile linux,
 * and without SO_OOBINLINE, it reads the last urgent octet (EAGAIN: not there yet; EINVAL: none, or
 * read already), and other reads skip it.
 * EAGAIN: nothing to read yet. ENOTCONN: never connected, or listening. ECONNRESET, ETIMEDOUT,
 * EHOSTUNREACH ...: the connection has failed; returned once, then 0. Unread data is lost.
 */
ssize_t lockstep_recv(struct lockstep_sockets* s, int fd, void* buffer, size_t size, int flags);
/* As recv() without flags. */
ssize_t lockstep_read(struct lockstep_sockets* s, int fd, void* buffer, size_t size);
/* As read(), into `count` buffers, 1 to 1024 (EINVAL). */
ssize_t lockstep_readv(struct lockstep_sockets* s, int fd, const struct iovec* parts, int count);
/* As recv(); `address` is not written and *length becomes 0. */
ssize_t lockstep_recvfrom(struct lockstep_sockets* s, int fd, void* buffer, size_t size, int flags,
                          struct sockaddr* address, socklen_t* length);
/* As recv(), into at most 1024 parts (EMSGSIZE); name and control lengths and flags become 0. */
ssize_t lockstep_recvmsg(struct lockstep_sockets* s, int fd, struct msghdr* message, int flags);

/*
 * Queues as many octets as there is room for and returns their number. `flags`:
 * - MSG_MORE holds back a segment that is not full.
 * - MSG_OOB makes all queued data urgent.
 * - MSG_FASTOPEN (sendto, sendmsg) connects and sends the data with the SYN. If the peer's cookie
 *   is not known it accepts nothing, returns EINPROGRESS, and the SYN asks for a cookie.
 * - MSG_EOR ends a record if all octets are accepted: no segment spans the end, and until the end
 *   is acknowledged it occupies one block of the stack in the send buffer.
 * - MSG_DONTWAIT and MSG_NOSIGNAL change nothing. Others: EOPNOTSUPP.
 * EAGAIN: no room, or still connecting. ENOTCONN: never connected. EPIPE: our half is shut down, or
 * the connection is over. ECONNRESET ...: the connection has failed; returned once, then EPIPE.
 */
ssize_t lockstep_send(struct lockstep_sockets* s, int fd, const void* buffer, size_t size,
                      int flags);
/* As send() without flags. */
ssize_t lockstep_write(struct lockstep_sockets* s, int fd, const void* buffer, size_t size);
/* As write(), from `count` buffers, 1 to 1024 (EINVAL). */
ssize_t lockstep_writev(struct lockstep_sockets* s, int fd, const struct iovec* parts, int count);
/* As send(); without MSG_FASTOPEN `address` is ignored. */
ssize_t lockstep_sendto(struct lockstep_sockets* s, int fd, const void* buffer, size_t size,
                        int flags, const struct sockaddr* address, socklen_t length);
/* As sendto(), from at most 1024 parts (EMSGSIZE). Control data: EINVAL. */
ssize_t lockstep_sendmsg(struct lockstep_sockets* s, int fd, const struct msghdr* message,
                         int flags);

/* ---- options ---- */

/*
 * README.md lists the options. ENOPROTOOPT: not supported, or set although it is read-only. EINVAL:
 * a value out of range, or the length is too short. EFAULT: NULL. EDOM: a timeout's microseconds
 * are out of range. ENOENT: no such congestion control. EOPNOTSUPP: Fast Open is off in the stack.
 */
int lockstep_getsockopt(struct lockstep_sockets* s, int fd, int level, int name, void* value,
                        socklen_t* length);
/* Sets an option; its errors are those of getsockopt(). */
int lockstep_setsockopt(struct lockstep_sockets* s, int fd, int level, int name, const void* value,
                        socklen_t length);

/*
 * F_GETFL and F_SETFL (O_NONBLOCK is stored, see above; O_RDWR is always set), F_GETFD and F_SETFD
 * (FD_CLOEXEC is stored). EINVAL: any other command.
 */
int lockstep_fcntl(struct lockstep_sockets* s, int fd, int command, int argument);

/*
 * SIOCINQ (FIONREAD): octets that can be read; EINVAL if listening. SIOCOUTQ (TIOCOUTQ): octets
 * queued and not acknowledged. SIOCOUTQNSD: of these, the octets not yet sent. SIOCATMARK: whether
 * the next octet to read is the urgent one. FIONBIO: sets O_NONBLOCK from an int. `argument` is an
 * int*. ENOTTY: any other request.
 */
int lockstep_ioctl(struct lockstep_sockets* s, int fd, unsigned long request, void* argument);

/* TCP_INFO: the layout of Linux's struct tcp_info; README.md lists the fields that differ. */
struct lockstep_tcp_info {
  uint8_t tcpi_state;    /* 1 ESTABLISHED, 2 SYN_SENT, ... 10 LISTEN, 11 CLOSING */
  uint8_t tcpi_ca_state; /* 0 open, 1 disorder, 3 recovery, 4 loss */
  uint8_t tcpi_retransmits;
  uint8_t tcpi_probes;
  uint8_t tcpi_backoff;
  uint8_t tcpi_options; /* 1 timestamps, 2 SACK, 4 window scale, 8 ECN, 32 data was in the SYN */
  uint8_t tcpi_wscale;  /* send scale in the low four bits, receive scale in the high four */
  uint8_t tcpi_flags;   /* 1: the delivery rate was limited by the application */
  uint32_t tcpi_rto;    /* microseconds, as all times below without another unit */
  uint32_t tcpi_ato;
  uint32_t tcpi_snd_mss;
  uint32_t tcpi_rcv_mss;
  uint32_t tcpi_unacked; /* in segments, as the next four */
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
  uint32_t tcpi_snd_ssthresh; /* segments; 0x7fffffff: not set yet */
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
 * Sets each revents to the events that are ready now and returns how many are not 0. A negative fd
 * is skipped; one that is not open gives POLLNVAL. EINVAL: more entries than the context has
 * descriptors.
 */
int lockstep_poll(struct lockstep_sockets* s, struct pollfd* entries, nfds_t count);

/* Makes an epoll. `flags`: EPOLL_CLOEXEC or 0 (EINVAL). EMFILE, ENOMEM: none is left. */
int lockstep_epoll_create1(struct lockstep_sockets* s, int flags);
/* As epoll_create1(s, 0); `size` must be positive (EINVAL). */
int lockstep_epoll_create(struct lockstep_sockets* s, int size);

/*
 * EPOLL_CTL_ADD, MOD and DEL. Events: EPOLLIN, OUT, PRI, RDHUP, RDNORM, WRNORM, ET, ONESHOT; ERR
 * and HUP are always reported. EEXIST, ENOENT: `fd` is already watched, or is not. EINVAL: `epfd`
 * is not an epoll or equals `fd`, or another operation or event. EPERM: `fd` is an epoll. ENOSPC:
 * the context's items are all in use. Closing a socket removes it from every epoll.
 */
int lockstep_epoll_ctl(struct lockstep_sockets* s, int epfd, int operation, int fd,
                       struct epoll_event* event);

/*
 * Writes up to `count` (at least 1, else EINVAL) events that are ready now and returns their
 * number. With EPOLLET a socket is reported again only after a new event: data arrived, or room
 * appeared after a refused send; with EPOLLONESHOT only after EPOLL_CTL_MOD. A reported socket
 * moves to the end of the list, so that others get their turn. EINVAL: `epfd` is not an epoll.
 */
int lockstep_epoll_wait(struct lockstep_sockets* s, int epfd, struct epoll_event* events,
                        int count);

/* ---- time ---- */

/* Nanoseconds of the stack's clock. */
uint64_t lockstep_now(const struct lockstep_sockets* s);

/*
 * Calls `function` with `user` once in each turn of the stack, after the turn's events were
 * handled. An application that runs there works the same in simulation and on hardware. `function`
 * may make any call. NULL: none.
 */
typedef void (*lockstep_turn_function)(struct lockstep_sockets* s, void* user);
/* Names the function of each turn, in place of the one before. */
void lockstep_on_turn(struct lockstep_sockets* s, lockstep_turn_function function, void* user);

/* Requests a turn when the clock reaches `ns`, even if nothing happens; UINT64_MAX: none. */
void lockstep_wake_at(struct lockstep_sockets* s, uint64_t ns);

#ifdef __cplusplus
}
#endif

#endif
