// packetdrill's shared library interface: one function, and the calls that it fills in.
#ifndef LOCKSTEP_TOOLS_PACKETDRILL_INTERFACE_H
#define LOCKSTEP_TOOLS_PACKETDRILL_INTERFACE_H

#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The order of the members is the interface: 33 pointers. Every call has `userdata` as its first
 * argument and otherwise behaves like the C library call of that name: -1 and errno on failure.
 */
struct packetdrill_interface {
  void* userdata;
  /* Ends the script and frees everything that it has created. */
  void (*free)(void* userdata);
  int (*socket)(void* userdata, int domain, int type, int protocol);
  int (*bind)(void* userdata, int fd, const struct sockaddr* address, socklen_t length);
  int (*listen)(void* userdata, int fd, int backlog);
  int (*accept)(void* userdata, int fd, struct sockaddr* address, socklen_t* length);
  int (*connect)(void* userdata, int fd, const struct sockaddr* address, socklen_t length);
  ssize_t (*read)(void* userdata, int fd, void* buffer, size_t size);
  ssize_t (*readv)(void* userdata, int fd, const struct iovec* parts, int count);
  ssize_t (*recv)(void* userdata, int fd, void* buffer, size_t size, int flags);
  ssize_t (*recvfrom)(void* userdata, int fd, void* buffer, size_t size, int flags,
                      struct sockaddr* address, socklen_t* length);
  ssize_t (*recvmsg)(void* userdata, int fd, struct msghdr* message, int flags);
  ssize_t (*write)(void* userdata, int fd, const void* buffer, size_t size);
  ssize_t (*writev)(void* userdata, int fd, const struct iovec* parts, int count);
  ssize_t (*send)(void* userdata, int fd, const void* buffer, size_t size, int flags);
  ssize_t (*sendto)(void* userdata, int fd, const void* buffer, size_t size, int flags,
                    const struct sockaddr* address, socklen_t length);
  ssize_t (*sendmsg)(void* userdata, int fd, const struct msghdr* message, int flags);
  int (*fcntl)(void* userdata, int fd, int command, ...);           /* an int, or nothing */
  int (*ioctl)(void* userdata, int fd, unsigned long request, ...); /* an int* */
  int (*close)(void* userdata, int fd);
  int (*shutdown)(void* userdata, int fd, int how);
  int (*getsockopt)(void* userdata, int fd, int level, int name, void* value, socklen_t* length);
  int (*setsockopt)(void* userdata, int fd, int level, int name, const void* value,
                    socklen_t length);
  int (*poll)(void* userdata, struct pollfd* entries, nfds_t count, int timeout_ms);
  /* Injects a packet, which starts with its IP header. 0 or -1. */
  int (*netdev_send)(void* userdata, const void* packet, size_t size);
  /*
   * Returns the next packet sent: *count is the buffer's size before and the packet's length
   * afterwards; the time is that of gettimeofday. 0 or -1; 0 octets: none is sent before the
   * horizon.
   */
  int (*netdev_receive)(void* userdata, void* buffer, size_t* count, long long* time_usecs);
  int (*usleep)(void* userdata, useconds_t usecs);
  int (*gettimeofday)(void* userdata, struct timeval* now, struct timezone* zone);
  int (*epoll_create)(void* userdata, int size);
  int (*epoll_ctl)(void* userdata, int epfd, int operation, int fd, struct epoll_event* event);
  int (*epoll_wait)(void* userdata, int epfd, struct epoll_event* events, int count,
                    int timeout_ms);
  int (*pipe)(void* userdata, int ends[2]);
  int (*splice)(void* userdata, int fd_in, loff_t* offset_in, int fd_out, loff_t* offset_out,
                size_t size, unsigned int flags);
};

/*
 * Fills in all members of `interface`. `flags` is the value of --so_flags=, or NULL; README.md
 * lists the flags. An invalid flag ends the process with one line on stderr and exit code 2. A
 * second call ends the session of the first. Call it on the thread that runs the script.
 */
void packetdrill_interface_init(const char* flags, struct packetdrill_interface* interface);

#ifdef __cplusplus
}
#endif

#endif
