// The host: one stack with one address on a link without headers.
package main

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/rand"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

const (
	nic = 1
	// More packets than these are not sent at one instant.
	queueMax = 1 << 16
)

// host is the device.
type host struct {
	quiet   *quiet
	clock   *clock
	stack   *stack.Stack
	link    *channel.Endpoint
	network tcpip.NetworkProtocolNumber
	local   tcpip.Address
	remote  tcpip.Address
	start   uint64 // the tester's instant of creation
	options options
	sent    [][]byte
	named   []any // by handle - 1: *listener or *connection
}

// setup is what the tester tells before the options, in this order.
type setup struct {
	local, remote netip.Addr
	mtu           uint32
	seed, start   uint64
}

// head reads the first five lines of a request to create.
func head(lines []string) (setup, error) {
	var out setup
	values := make([]string, 5)
	for i, name := range []string{"local", "remote", "mtu", "seed", "start"} {
		found, value := "", ""
		if i < len(lines) {
			found, value, _ = strings.Cut(lines[i], "=")
		}
		if found != name {
			return out, fmt.Errorf("the request to create has no line %s=", name)
		}
		values[i] = value
	}
	var faults [5]error
	var mtu uint64
	out.local, faults[0] = netip.ParseAddr(values[0])
	out.remote, faults[1] = netip.ParseAddr(values[1])
	mtu, faults[2] = strconv.ParseUint(values[2], 10, 16)
	out.mtu = uint32(mtu)
	out.seed, faults[3] = strconv.ParseUint(values[3], 10, 64)
	out.start, faults[4] = strconv.ParseUint(values[4], 10, 64)
	for _, err := range faults {
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func newHost(text string, q *quiet) (*host, error) {
	lines := strings.Split(text, "\n")
	told, err := head(lines)
	if err != nil {
		return nil, err
	}
	settings, err := parse(lines[5:])
	if err != nil {
		return nil, err
	}
	source := newRandom(told.seed)
	rand.Reader = source // the keys of the IPv4 identifications
	h := &host{
		quiet:   q,
		clock:   &clock{now: int64(origin)},
		link:    channel.New(queueMax, told.mtu, ""),
		network: ipv6.ProtocolNumber,
		local:   tcpip.AddrFromSlice(told.local.AsSlice()),
		remote:  tcpip.AddrFromSlice(told.remote.AsSlice()),
		start:   told.start,
		options: settings,
	}
	prefix := 64
	if told.local.Is4() {
		h.network, prefix = ipv4.ProtocolNumber, 24
	}
	control := tcp.NewProtocolCUBIC
	if settings.plain {
		control = tcp.NewProtocol
	}
	h.stack = stack.New(stack.Options{
		NetworkProtocols: []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{
			control, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6},
		Clock:      h.clock,
		RandSource: source,
		SecureRNG:  source,
	})
	if err := settings.apply(h.stack); err != nil {
		return nil, err
	}
	return h, h.attach(prefix)
}

// attach gives the stack its link, its address and its route.
func (h *host) attach(prefix int) error {
	if err := h.stack.CreateNIC(nic, h.link); err != nil {
		return fmt.Errorf("no interface: %s", err)
	}
	address := tcpip.ProtocolAddress{
		Protocol:          h.network,
		AddressWithPrefix: tcpip.AddressWithPrefix{Address: h.local, PrefixLen: prefix},
	}
	if err := h.stack.AddProtocolAddress(nic, address, stack.AddressProperties{}); err != nil {
		return fmt.Errorf("no address: %s", err)
	}
	everything := header.IPv4EmptySubnet
	if h.network == ipv6.ProtocolNumber {
		everything = header.IPv6EmptySubnet
	}
	h.stack.SetRouteTable([]tcpip.Route{{Destination: everything, NIC: nic}})
	h.settle()
	h.sent = nil
	return nil
}

// now returns the tester's time.
func (h *host) now() uint64 {
	return h.start + uint64(h.clock.now-int64(origin))
}

// deadline returns when the next timer expires, in the tester's time.
func (h *host) deadline() uint64 {
	due := h.clock.due()
	if due == never {
		return ^uint64(0)
	}
	return h.start + uint64(due-int64(origin))
}

// advance sets the time, and runs the timers that are due.
func (h *host) advance(now uint64) {
	h.clock.advance(int64(origin) + int64(now-h.start))
	h.settle()
}

// packet is an IP packet that arrives.
func (h *host) packet(octets []byte) {
	if len(octets) == 0 {
		return
	}
	network := tcpip.NetworkProtocolNumber(ipv6.ProtocolNumber)
	if octets[0]>>4 == 4 {
		network = ipv4.ProtocolNumber
	}
	arrived := stack.NewPacketBuffer(stack.PacketBufferOptions{
		Payload: buffer.MakeWithData(octets)})
	h.link.InjectInbound(network, arrived)
	arrived.DecRef()
	h.settle()
}

// settle runs whatever can run at this instant, and notes what happened.
func (h *host) settle() {
	for {
		h.quiet.wait()
		if h.review() {
			continue
		}
		if !h.clock.expireNext() {
			break
		}
	}
	for sent := h.link.Read(); sent != nil; sent = h.link.Read() {
		view := sent.ToView()
		h.sent = append(h.sent, append([]byte(nil), view.AsSlice()...))
		view.Release()
		sent.DecRef()
	}
}
