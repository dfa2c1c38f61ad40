// The calls of device.h on the sockets of the system that this program runs on.
#ifndef LOCKSTEP_CONFORMANCE_DEVICES_REMOTE_SOCKETS_H
#define LOCKSTEP_CONFORMANCE_DEVICES_REMOTE_SOCKETS_H

#include "conformance/devices/device.h"

/* May the tester change settings of the system? They are restored after each test. */
void sockets_may_set(int yes);

/* The table; its device has no packets and no clock, because its wire and its time are real. */
const struct lockstep_device_calls* sockets_calls(void);

/* What is left of a test that was cut off: ends its sockets, restores the settings. */
void sockets_clean(void);

#endif
