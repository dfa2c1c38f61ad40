// The configuration of lwIP's development head: what Debian's package of 2.1.3 has, without
// threads, so that a difference between the two is one between their versions.
#ifndef LOCKSTEP_DEVICES_LWIP_HEAD_LWIPOPTS_H
#define LOCKSTEP_DEVICES_LWIP_HEAD_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_SOCKET 0
#define LWIP_NETCONN 0
#define LWIP_NETIF_API 0

/* The C library's memory; octets that are sent without being set are 0. */
#include <stdlib.h>
#define MEM_CUSTOM_ALLOCATOR 1
#define MEM_CUSTOM_FREE free
#define MEM_CUSTOM_MALLOC(size) calloc(1, (size))
#define MEM_CUSTOM_CALLOC calloc
#define MEMP_MEM_MALLOC 1
#define MEM_ALIGNMENT 8
/* Pointers of 64 bits do not fit into the header of a fragment. */
#define IPV6_FRAG_COPYHEADER 1
#define LWIP_NETIF_TX_SINGLE_PBUF 1
#define LWIP_CHECKSUM_ON_COPY 1
#define LWIP_STATS 0

#define LWIP_IPV4 1
#define LWIP_IPV6 1
#define LWIP_ICMP 1
#define LWIP_ICMP6 1
#define LWIP_RAW 1
#define LWIP_UDP 1
#define LWIP_TCP 1
#define LWIP_ARP 0
#define LWIP_ETHERNET 0
#define LWIP_IGMP 1
#define LWIP_IPV6_MLD 1
#define MEMP_NUM_MLD6_GROUP 16
#define LWIP_IPV6_NUM_ADDRESSES 6
#define LWIP_IPV6_DUP_DETECT_ATTEMPTS 1
#define LWIP_IPV6_SEND_ROUTER_SOLICIT 1
#define LWIP_IPV6_AUTOCONFIG 1
#define IP_FORWARD 1
#define LWIP_IPV6_FORWARD 1

#define TCP_MSS 1460
#define TCP_WND 0xFFFF
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 0x1
#define TCP_SND_BUF TCP_WND
#define LWIP_TCP_KEEPALIVE 1
#define SO_REUSE 1
#define LWIP_RANDOMIZE_INITIAL_LOCAL_PORTS 1

#endif
