// What lwIP asks of a compiler and a C library.
#ifndef LOCKSTEP_DEVICES_LWIP_HEAD_ARCH_CC_H
#define LOCKSTEP_DEVICES_LWIP_HEAD_ARCH_CC_H

#include <stdlib.h>

#define LWIP_RAND() ((u32_t)rand())

#endif
