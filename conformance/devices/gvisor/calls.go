// The program's calls on the host's TCP.
package main

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

type listener struct {
	endpoint tcpip.Endpoint
	port     uint16
	closed   bool
}

type connection struct {
	endpoint *tcp.Endpoint
	seen     tcp.EndpointState
	queued   int  // received, not yet read
	idle     bool // nothing was in flight when it was last seen
	// A program writes before the connection is established by waiting until it is; what it wrote
	// then waits here.
	unwritten []byte
	told      string
	finished  bool // by the peer
	closed    bool // by the program
	over      bool
	soft      string      // the last ICMP error that did not end it
	failure   tcpip.Error // that ended it, until the program asks for it
}

func (h *host) keep(one any) int64 {
	h.named = append(h.named, one)
	return int64(len(h.named))
}

func (h *host) listener(handle int64) *listener {
	if handle < 1 || handle > int64(len(h.named)) {
		return nil
	}
	one, _ := h.named[handle-1].(*listener)
	return one
}

func (h *host) connection(handle int64) *connection {
	if handle < 1 || handle > int64(len(h.named)) {
		return nil
	}
	one, _ := h.named[handle-1].(*connection)
	return one
}

// bound makes an endpoint with the device's options on a port; nil: the port is taken.
func (h *host) bound(port uint16) *tcp.Endpoint {
	made, err := h.stack.NewEndpoint(tcp.ProtocolNumber, h.network, &waiter.Queue{})
	if err != nil {
		return nil
	}
	made.SocketOptions().SetReuseAddress(true)
	h.options.prepare(made)
	if err := made.Bind(tcpip.FullAddress{NIC: nic, Addr: h.local, Port: port}); err != nil {
		made.Close()
		return nil
	}
	return made.(*tcp.Endpoint)
}

func (h *host) listen(port uint16, backlog int) int64 {
	made := h.bound(port)
	if made == nil {
		return refused
	}
	if err := made.Listen(max(backlog, 1)); err != nil {
		made.Close()
		return refused
	}
	return h.keep(&listener{endpoint: made, port: port})
}

func (h *host) unlisten(handle int64) int64 {
	one := h.listener(handle)
	if one == nil || one.closed {
		return gone
	}
	one.closed = true
	before := len(h.sent)
	one.endpoint.Close()
	h.settle()
	// The stack resets what was not accepted in the order of a Go map, which is random.
	slices.SortFunc(h.sent[before:], bytes.Compare)
	return 0
}

func (h *host) accept(handle int64) int64 {
	one := h.listener(handle)
	if one == nil || one.closed {
		return gone
	}
	made, _, err := one.endpoint.Accept(nil)
	if err != nil {
		return again
	}
	h.options.prepare(made)
	c := &connection{endpoint: made.(*tcp.Endpoint), seen: tcp.StateEstablished}
	c.tell("accepted")
	result := h.keep(c)
	h.settle()
	return result
}

func (h *host) connect(local, remote uint16) int64 {
	made := h.bound(local)
	if made == nil {
		return refused
	}
	err := made.Connect(tcpip.FullAddress{NIC: nic, Addr: h.remote, Port: remote})
	if _, started := err.(*tcpip.ErrConnectStarted); !started {
		made.Close()
		return refused
	}
	result := h.keep(&connection{endpoint: made, seen: tcp.StateSynSent})
	h.settle()
	return result
}

func (h *host) send(handle int64, data []byte) int64 {
	c := h.connection(handle)
	if c == nil || c.closed || c.over {
		return gone
	}
	if len(c.unwritten) != 0 || opening(c.endpoint.EndpointState()) {
		c.unwritten = append(c.unwritten, data...)
		return int64(len(data))
	}
	taken, err := c.endpoint.Write(bytes.NewReader(data), tcpip.WriteOptions{})
	h.settle()
	switch err.(type) {
	case nil:
		if taken == 0 && len(data) != 0 {
			return again
		}
		return taken
	case *tcpip.ErrWouldBlock:
		return again
	}
	c.failure = err
	return gone
}

func (h *host) receive(handle, room int64) answer {
	c := h.connection(handle)
	if c == nil || c.closed {
		return number(gone)
	}
	octets := make([]byte, max(room, 0))
	to := tcpip.SliceWriter(octets)
	got, err := c.endpoint.Read(&to, tcpip.ReadOptions{})
	if err == nil && got.Count > 0 {
		c.endpoint.ModerateRecvBuf(got.Count)
	}
	c.queued = received(c.endpoint)
	h.settle()
	switch {
	case err == nil && (got.Count > 0 || room == 0):
		return answer{int64(got.Count), octets[:got.Count]}
	case err == nil:
		return number(again)
	}
	switch err.(type) {
	case *tcpip.ErrWouldBlock, *tcpip.ErrBadBuffer:
		return number(again)
	case *tcpip.ErrClosedForReceive:
		if c.finished {
			return number(0)
		}
		return number(gone)
	}
	if opening(c.endpoint.EndpointState()) {
		return number(again)
	}
	c.failure = err
	return number(gone)
}

func (h *host) finish(handle int64) int64 {
	c := h.connection(handle)
	if c == nil || c.closed || c.over {
		return gone
	}
	if err := c.endpoint.Shutdown(tcpip.ShutdownWrite); err != nil {
		return refused
	}
	h.settle()
	return 0
}

func (h *host) close(handle int64) int64 {
	c := h.connection(handle)
	if c == nil || c.closed {
		return gone
	}
	c.closed = true
	if opening(c.seen) {
		c.end("aborted")
	}
	c.endpoint.Close()
	h.settle()
	return 0
}

// abort closes as a program does that has set SO_LINGER to zero.
func (h *host) abort(handle int64) int64 {
	c := h.connection(handle)
	if c == nil || c.closed || c.over {
		return gone
	}
	c.closed = true
	c.end("aborted")
	c.endpoint.SocketOptions().SetLinger(tcpip.LingerOption{Enabled: true})
	c.endpoint.Close()
	h.settle()
	return 0
}

// change makes a setting of a connection.
func (h *host) change(handle int64, name string, value int64) int64 {
	c := h.connection(handle)
	if c == nil || c.closed || c.over {
		return gone
	}
	e := c.endpoint
	whole := tcpip.SockOptInt(-1)
	switch name {
	case "nagle":
		e.SocketOptions().SetDelayOption(value != 0)
	case "keepalive":
		e.SocketOptions().SetKeepAlive(value != 0)
	case "keepalive_idle_ms":
		idle := tcpip.KeepaliveIdleOption(time.Duration(value) * time.Millisecond)
		e.SetSockOpt(&idle)
		e.SocketOptions().SetKeepAlive(true)
	case "keepalive_interval_ms":
		interval := tcpip.KeepaliveIntervalOption(time.Duration(value) * time.Millisecond)
		e.SetSockOpt(&interval)
	case "keepalive_probes":
		whole = tcpip.KeepaliveCountOption
	case "user_timeout_ms":
		timeout := tcpip.TCPUserTimeoutOption(time.Duration(value) * time.Millisecond)
		e.SetSockOpt(&timeout)
	case "receive_buffer":
		e.SocketOptions().SetReceiveBufferSize(bufferShare*value, true)
	case "send_buffer":
		e.SocketOptions().SetSendBufferSize(value, true)
	case "dscp":
		value <<= 2
		whole = tcpip.IPv4TOSOption
		if h.network == header.IPv6ProtocolNumber {
			whole = tcpip.IPv6TrafficClassOption
		}
	case "ttl":
		if value < 1 || value > 255 {
			return refused
		}
		whole = tcpip.IPv4TTLOption
		if h.network == header.IPv6ProtocolNumber {
			whole = tcpip.IPv6HopLimitOption
		}
	default:
		return unsupported
	}
	if whole >= 0 {
		if err := e.SetSockOptInt(whole, int(value)); err != nil {
			return refused
		}
	}
	h.settle()
	return 0
}

// state names what a segment from the tester would meet.
func (h *host) state(local, remote uint16) string {
	id := stack.TransportEndpointID{
		LocalPort: local, LocalAddress: h.local, RemotePort: remote, RemoteAddress: h.remote}
	found := h.stack.FindTransportEndpoint(h.network, tcp.ProtocolNumber, id, nic)
	if e, is := found.(*tcp.Endpoint); is && e != nil {
		return nameOf(e.EndpointState())
	}
	for _, one := range h.named {
		if l, is := one.(*listener); is && !l.closed && l.port == local {
			return "LISTEN"
		}
	}
	return "CLOSED"
}

// nameOf gives a state its name in the RFC.
func nameOf(state tcp.EndpointState) string {
	switch state {
	case tcp.StateSynRecv:
		return "SYN-RECEIVED"
	case tcp.StateFinWait1:
		return "FIN-WAIT-1"
	case tcp.StateFinWait2:
		return "FIN-WAIT-2"
	case tcp.StateInitial, tcp.StateBound, tcp.StateConnecting, tcp.StateError, tcp.StateClose:
		return "CLOSED"
	}
	return state.String()
}

func (h *host) events(handle int64) string {
	h.settle()
	if c := h.connection(handle); c != nil {
		return c.told
	}
	return ""
}

// field reads a variable of an endpoint that the stack does not export, by its path.
func field(e *tcp.Endpoint, path ...string) (reflect.Value, bool) {
	at := reflect.ValueOf(e)
	for _, name := range path {
		if at.Kind() == reflect.Pointer {
			if at.IsNil() {
				return at, false
			}
			at = at.Elem()
		}
		if at = at.FieldByName(name); !at.IsValid() {
			panic(fmt.Sprintf("this gVisor has no variable %s: see calls.go", name))
		}
	}
	return at, true
}

func integer(e *tcp.Endpoint, path ...string) int64 {
	at, there := field(e, path...)
	switch {
	case !there:
		return 0
	case at.CanInt():
		return at.Int()
	}
	return int64(at.Uint())
}

// variable reads a variable of a connection.
func (h *host) variable(handle int64, name string) int64 {
	c := h.connection(handle)
	if c == nil {
		return gone
	}
	e := c.endpoint
	if name == "error" {
		return c.error()
	}
	mss := integer(e, "snd", "MaxPayloadSize")
	switch name {
	case "cwnd":
		return integer(e, "snd", "SndCwnd") * mss
	case "ssthresh":
		return min(integer(e, "snd", "Ssthresh"), (1<<32-1)/max(mss, 1)) * mss
	case "snd_una":
		return integer(e, "snd", "SndUna")
	case "snd_nxt":
		return integer(e, "snd", "SndNxt")
	case "snd_wnd":
		return integer(e, "snd", "SndWnd")
	case "snd_mss":
		return mss
	case "rcv_nxt":
		return integer(e, "rcv", "RcvNxt")
	case "rcv_wnd":
		return (integer(e, "rcv", "RcvAcc") - integer(e, "rcv", "RcvNxt")) & (1<<32 - 1)
	case "fast_recovery":
		active, there := field(e, "snd", "FastRecovery", "Active")
		if there && active.Bool() {
			return 1
		}
		return 0
	case "sacked":
		return integer(e, "snd", "SackedOut") * mss
	case "rto_ns":
		return integer(e, "snd", "RTO")
	case "srtt_ns":
		return integer(e, "snd", "rtt", "TCPRTTState", "SRTT")
	}
	return unsupported
}
