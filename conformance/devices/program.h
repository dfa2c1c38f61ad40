// Lets another process use a device over a pair of descriptors, for C99 and C++.
#ifndef LOCKSTEP_CONFORMANCE_DEVICES_PROGRAM_H
#define LOCKSTEP_CONFORMANCE_DEVICES_PROGRAM_H

#include "conformance/devices/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A program that is a device reads requests and writes an answer to each. Numbers are
 * little-endian.
 *
 *   request: length (4 octets, of what follows), call (4), first (8), second (8), octets
 *   answer:  length (4 octets, of what follows), result (8, signed), now (8), deadline (8),
 *            count of packets (4), for each packet its length (4) and its octets; then octets
 *
 * `now` and `deadline` are the instants after the call. Packets come with the answers to ADVANCE
 * and PACKET: all that were sent since the last of these, at `now`. A result below 0 is one of
 * device.h; the octets then say why.
 */
enum lockstep_device_call {
  LOCKSTEP_CALL_ABOUT = 1, /* answer: lines "version 3", "name lwip", "stack ...", "abilities ...",
                              "timer_grain 1", "timer_late 0", "calls listen accept ..." */
  LOCKSTEP_CALL_CREATE,    /* octets: lines "local=10.0.0.1", "remote=", "mtu=", "seed=", "start=",
                              in this order, then the options */
  LOCKSTEP_CALL_ADVANCE,   /* first: until when; stops earlier if a packet is sent */
  LOCKSTEP_CALL_PACKET,    /* octets: an IP packet, which arrives now */
  LOCKSTEP_CALL_LISTEN,    /* first: port; second: backlog */
  LOCKSTEP_CALL_UNLISTEN,  /* first: listener */
  LOCKSTEP_CALL_ACCEPT,    /* first: listener */
  LOCKSTEP_CALL_CONNECT,   /* first: local port; second: remote port */
  LOCKSTEP_CALL_SEND,      /* first: connection; octets: data */
  LOCKSTEP_CALL_RECEIVE,   /* first: connection; second: at most; answer: data */
  LOCKSTEP_CALL_FINISH,    /* first: connection, here and below */
  LOCKSTEP_CALL_CLOSE,
  LOCKSTEP_CALL_ABORT,
  LOCKSTEP_CALL_URGENT,
  LOCKSTEP_CALL_SET,    /* second: value; octets: name */
  LOCKSTEP_CALL_GET,    /* octets: name; the result is the value */
  LOCKSTEP_CALL_STATE,  /* first: local port; second: remote port; answer: the state */
  LOCKSTEP_CALL_EVENTS, /* answer: the events */
  LOCKSTEP_CALL_BRANCH  /* octets: the path of a Unix stream socket, to which the device connects.
                           Then its process forks; the copy takes that connection for input and
                           output, and answers this call there, too. It ends when its input ends.
                           UNSUPPORTED for a device without the ability `branches`. */
};

/*
 * Answers the requests of `in` on `out` until `in` ends. Nothing else may write to `out`: a program
 * whose device prints to its standard output serves on a copy of it (dup), and replaces it by its
 * standard error (dup2). Returns NULL, or what was wrong with a
 * request or with the device, in one line; the memory is static.
 */
const char* lockstep_device_serve(const struct lockstep_device_calls* calls, int in, int out);

#ifdef __cplusplus
}
#endif

#endif
