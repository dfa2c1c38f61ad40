// Checks the layout of the interface, as seen by a C program.
#include "conformance/packetdrill/interface.h"

#define SLOT(member) (offsetof(struct packetdrill_interface, member) / sizeof(void*))

_Static_assert(sizeof(struct packetdrill_interface) == 33 * sizeof(void*), "33 pointers");
_Static_assert(SLOT(free) == 1, "free is the first call");
_Static_assert(SLOT(connect) == 6, "connect");
_Static_assert(SLOT(recvmsg) == 11, "recvmsg");
_Static_assert(SLOT(sendmsg) == 16, "sendmsg");
_Static_assert(SLOT(ioctl) == 18, "ioctl");
_Static_assert(SLOT(setsockopt) == 22, "setsockopt");
_Static_assert(SLOT(netdev_send) == 24, "netdev_send");
_Static_assert(SLOT(netdev_receive) == 25, "netdev_receive");
_Static_assert(SLOT(gettimeofday) == 27, "gettimeofday");
_Static_assert(SLOT(epoll_wait) == 30, "epoll_wait");
_Static_assert(SLOT(splice) == 32, "splice is the last call");
