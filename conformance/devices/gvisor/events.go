// What the program notices of its connections.
package main

import (
	"bytes"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// opening tells whether a handshake is not complete.
func opening(state tcp.EndpointState) bool {
	return state == tcp.StateConnecting || state == tcp.StateSynSent || state == tcp.StateSynRecv
}

func closed(state tcp.EndpointState) bool {
	return state == tcp.StateClose || state == tcp.StateError
}

// received returns how many octets a program can read.
func received(e *tcp.Endpoint) int {
	size, err := e.GetSockOptInt(tcpip.ReceiveQueueSizeOption)
	if err != nil {
		return 0
	}
	return size
}

func (c *connection) tell(event string) {
	if c.told != "" {
		c.told += " "
	}
	c.told += event
}

func (c *connection) end(cause string) {
	if !c.over {
		c.over = true
		c.tell("closed:" + cause)
	}
}

// review notes what has changed since the last call, and writes what waits. It returns whether the
// stack has something to do because of that.
func (h *host) review() bool {
	busy := false
	for _, one := range h.named {
		if c, is := one.(*connection); is {
			busy = c.review() || busy
		}
	}
	return busy
}

func (c *connection) review() bool {
	before, now := c.seen, c.endpoint.EndpointState()
	c.seen = now
	if opening(before) && !opening(now) && !closed(now) {
		c.tell("connected")
	}
	if size := received(c.endpoint); size != c.queued {
		if size > c.queued {
			c.tell("received")
		}
		c.queued = size
	}
	switch now {
	case tcp.StateCloseWait, tcp.StateClosing, tcp.StateLastAck, tcp.StateTimeWait:
		if !c.finished {
			c.finished = true
			c.tell("peer_finished")
		}
	}
	c.soften()
	switch {
	case now == tcp.StateTimeWait:
		c.end("finished")
	case closed(now) && !c.over:
		c.failure = c.endpoint.LastError()
		c.end(c.cause(c.failure))
	}
	c.idle = integer(c.endpoint, "snd", "SndUna") == integer(c.endpoint, "snd", "SndNxt")
	return c.writeOn()
}

// writeOn gives the stack what it takes of what waits.
func (c *connection) writeOn() bool {
	if len(c.unwritten) == 0 || opening(c.seen) {
		return false
	}
	taken, err := c.endpoint.Write(bytes.NewReader(c.unwritten), tcpip.WriteOptions{})
	if err != nil {
		if _, full := err.(*tcpip.ErrWouldBlock); !full {
			c.unwritten = nil
		}
		return false
	}
	c.unwritten = c.unwritten[taken:]
	return taken > 0
}

// soften notes an ICMP error that did not end the connection. A program finds it as SO_ERROR; it is
// read here without clearing it.
func (c *connection) soften() {
	last, _ := field(c.endpoint, "lastError")
	if last.IsNil() || c.over {
		return
	}
	if kind := last.Elem().Type().String(); kind != c.soft {
		c.soft = kind
		if !closed(c.seen) {
			c.tell("soft_error:host_unreachable")
		}
	}
}

// cause gives an error the name of device.h.
func (c *connection) cause(failure tcpip.Error) string {
	switch failure.(type) {
	case nil:
		return "finished"
	case *tcpip.ErrConnectionReset:
		return "reset"
	case *tcpip.ErrConnectionRefused:
		return "refused"
	case *tcpip.ErrTimeout:
		if c.idle && c.endpoint.SocketOptions().GetKeepAlive() {
			return "keepalive_timed_out"
		}
		return "timed_out"
	case *tcpip.ErrUnknownProtocolOption:
		return "protocol_unreachable"
	case *tcpip.ErrHostUnreachable, *tcpip.ErrNetworkUnreachable:
		return "host_unreachable"
	}
	// A reset in CLOSE-WAIT has the same error as an abort of the program.
	if !c.closed {
		return "reset"
	}
	return "aborted"
}

// numbers are those of Linux's errno.
var numbers = map[string]int64{
	"finished": 0, "reset": 104, "refused": 111, "timed_out": 110, "keepalive_timed_out": 110,
	"protocol_unreachable": 92, "host_unreachable": 113, "aborted": 103,
}

// error returns why the connection is over, once; 0: there is no error.
func (c *connection) error() int64 {
	failure := c.failure
	c.failure = nil
	return numbers[c.cause(failure)]
}
