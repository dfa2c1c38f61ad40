// What the tester may set when it creates a device.
package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// lacking is an option that the stack does not have.
type lacking string

func (l lacking) Error() string { return string(l) }

// options are settings of the stack, and of each connection.
type options struct {
	plain          bool // profile rfc
	sack           bool
	buffer         int // for received octets; 0: the stack's own choice
	mss            int
	ttl            int
	rtoMin, rtoMax time.Duration
	timeWait       time.Duration
	keepalive      bool
	idle, interval time.Duration
	probes         int
	userTimeout    time.Duration
}

// The buffer of profile rfc: half of it is for payload, the other for what the stack adds.
const (
	bufferShare = 2
	plainBuffer = 65535
)

// parse reads lines NAME=VALUE. Window scaling, timestamps and path MTU discovery are always on.
func parse(lines []string) (options, error) {
	o := options{plain: true}
	for _, line := range lines {
		name, value, found := strings.Cut(line, "=")
		if line == "" {
			continue
		}
		if !found {
			return o, fmt.Errorf("expected name=value, found %s", line)
		}
		if err := o.take(name, value); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o *options) take(name, value string) error {
	lacks := lacking(fmt.Sprintf("no way to set %s to %s", name, value))
	whole, notWhole := strconv.Atoi(value)
	span, notSpan := time.ParseDuration(value)
	truth := value == "true"
	switch name {
	case "profile":
		if value != "rfc" && value != "default" {
			return lacks
		}
		o.plain = value == "rfc"
		o.sack = !o.plain
		return nil
	case "window_scale", "timestamps", "path_mtu_discovery":
		if !truth {
			return lacks
		}
		return nil
	case "sack":
		o.sack = truth
		return nil
	case "keepalive":
		o.keepalive = truth
		return nil
	case "receive_buffer_bytes":
		o.buffer = whole
		return fault(lacks, notWhole != nil || whole < 1)
	case "mss":
		o.mss = whole
		return fault(lacks, notWhole != nil)
	case "ttl":
		o.ttl = whole
		return fault(lacks, notWhole != nil || whole < 1 || whole > 255)
	case "keepalive_probes":
		o.probes = whole
		return fault(lacks, notWhole != nil || whole < 1)
	case "rto_min":
		o.rtoMin = span
	case "rto_max":
		o.rtoMax = span
	case "msl":
		o.timeWait = 2 * span
	case "keepalive_idle":
		o.idle = span
	case "keepalive_interval":
		o.interval = span
	case "user_timeout":
		o.userTimeout = span
	default:
		return lacks
	}
	return fault(lacks, notSpan != nil || span <= 0)
}

func fault(lacks lacking, wrong bool) error {
	if wrong {
		return lacks
	}
	return nil
}

// apply configures a stack.
func (o options) apply(s *stack.Stack) error {
	sack := tcpip.TCPSACKEnabled(o.sack)
	nagle := tcpip.TCPDelayEnabled(true)
	set := []tcpip.SettableTransportProtocolOption{&sack, &nagle}
	if o.plain {
		recovery := tcpip.TCPRecovery(0)
		moderate := tcpip.TCPModerateReceiveBufferOption(false)
		set = append(set, &recovery, &moderate)
		if o.rtoMin == 0 {
			o.rtoMin = time.Second
		}
		if o.timeWait == 0 {
			o.timeWait = 4 * time.Minute
		}
		if o.buffer == 0 {
			o.buffer = plainBuffer
		}
		// So that each segment outside the window may be answered.
		if err := s.SetOption(stack.TCPInvalidRateLimitOption(0)); err != nil {
			return fmt.Errorf("no way to set the limit of ACKs: %s", err)
		}
	}
	if o.buffer != 0 {
		size := bufferShare * o.buffer
		set = append(set, &tcpip.TCPReceiveBufferSizeRangeOption{
			Min: 1, Default: size, Max: max(size, tcp.MaxBufferSize)})
	}
	longest := tcpip.TCPMaxRTOOption(o.rtoMax)
	if o.rtoMax != 0 {
		set = append(set, &longest)
	}
	shortest := tcpip.TCPMinRTOOption(o.rtoMin)
	if o.rtoMin != 0 {
		set = append(set, &shortest)
	}
	timeWait := tcpip.TCPTimeWaitTimeoutOption(o.timeWait)
	if o.timeWait != 0 {
		set = append(set, &timeWait)
	}
	for _, each := range set {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, each); err != nil {
			return fmt.Errorf("no way to set %T: %s", each, err)
		}
	}
	if o.ttl != 0 {
		ttl := tcpip.DefaultTTLOption(o.ttl)
		s.SetNetworkProtocolOption(ipv4.ProtocolNumber, &ttl)
		s.SetNetworkProtocolOption(ipv6.ProtocolNumber, &ttl)
	}
	return nil
}

// prepare configures an endpoint: one that listens, one that connects, and one that was accepted.
func (o options) prepare(e tcpip.Endpoint) {
	if o.mss != 0 {
		e.SetSockOptInt(tcpip.MaxSegOption, o.mss)
	}
	if o.idle != 0 {
		idle := tcpip.KeepaliveIdleOption(o.idle)
		e.SetSockOpt(&idle)
	}
	if o.interval != 0 {
		interval := tcpip.KeepaliveIntervalOption(o.interval)
		e.SetSockOpt(&interval)
	}
	if o.probes != 0 {
		e.SetSockOptInt(tcpip.KeepaliveCountOption, o.probes)
	}
	if o.userTimeout != 0 {
		timeout := tcpip.TCPUserTimeoutOption(o.userTimeout)
		e.SetSockOpt(&timeout)
	}
	if o.keepalive {
		e.SocketOptions().SetKeepAlive(true)
	}
}
