// gVisor's netstack as a device: a program that answers the requests of ../program.h.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"gvisor.dev/gvisor/pkg/log"
)

// The results of ../device.h that are no numbers.
const (
	unsupported = -1
	refused     = -2
	again       = -3
	gone        = -4
)

// The calls, in the order of ../program.h.
const (
	callAbout = 1 + iota
	callCreate
	callAdvance
	callPacket
	callListen
	callUnlisten
	callAccept
	callConnect
	callSend
	callReceive
	callFinish
	callClose
	callAbort
	callUrgent
	callSet
	callGet
	callState
	callEvents
)

const (
	requestHead = 20
	requestMax  = 1 << 20
)

const about = `version 3
name gvisor
stack gVisor %s
abilities ipv4 ipv6 udp deterministic
timer_grain 1
timer_late 0
calls listen unlisten accept connect send receive finish close abort set get state events
`

type request struct {
	call          uint32
	first, second int64
	octets        []byte
}

// An answer without its instants and packets.
type answer struct {
	result int64
	octets []byte
}

func number(result int64) answer   { return answer{result, nil} }
func words(text string) answer     { return answer{0, []byte(text)} }
func refusal(err error) answer     { return answer{refused, []byte(err.Error())} }
func notSupported(w string) answer { return answer{unsupported, []byte("unsupported: " + w)} }

// read returns the next request; io.EOF: there is none.
func read(from io.Reader) (request, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		if err == io.EOF {
			return request{}, err
		}
		return request{}, errors.New("the input ends within a request")
	}
	length := binary.LittleEndian.Uint32(size[:])
	if length < requestHead || length > requestMax {
		return request{}, fmt.Errorf("a request of %d octets, expected %d to %d", length,
			requestHead, requestMax)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(from, body); err != nil {
		return request{}, errors.New("the input ends within a request")
	}
	return request{
		call:   binary.LittleEndian.Uint32(body),
		first:  int64(binary.LittleEndian.Uint64(body[4:])),
		second: int64(binary.LittleEndian.Uint64(body[12:])),
		octets: body[requestHead:],
	}, nil
}

// session is what is served to one tester.
type session struct {
	quiet *quiet
	host  *host
}

// run goes from timer to timer, up to the first packet or to an instant.
func (s *session) run(until uint64) {
	for s.host.settle(); len(s.host.sent) == 0 && s.host.now() < until; {
		s.host.advance(min(s.host.deadline(), until))
	}
}

func (s *session) create(lines string) answer {
	made, err := newHost(lines, s.quiet)
	var lacks lacking
	switch {
	case errors.As(err, &lacks):
		return notSupported(string(lacks))
	case err != nil:
		return refusal(err)
	}
	s.host = made
	return number(0)
}

func (s *session) do(r request) answer {
	switch {
	case r.call == callAbout:
		return words(fmt.Sprintf(about, version()))
	case r.call == callCreate:
		return s.create(string(r.octets))
	case s.host == nil:
		return refusal(fmt.Errorf("call %d came before a device was created", r.call))
	}
	h := s.host
	switch r.call {
	case callAdvance:
		s.run(uint64(r.first))
		return number(0)
	case callPacket:
		h.packet(r.octets)
		return number(0)
	case callListen:
		return number(h.listen(uint16(r.first), int(r.second)))
	case callUnlisten:
		return number(h.unlisten(r.first))
	case callAccept:
		return number(h.accept(r.first))
	case callConnect:
		return number(h.connect(uint16(r.first), uint16(r.second)))
	case callSend:
		return number(h.send(r.first, r.octets))
	case callReceive:
		return h.receive(r.first, min(r.second, requestMax))
	case callFinish:
		return number(h.finish(r.first))
	case callClose:
		return number(h.close(r.first))
	case callAbort:
		return number(h.abort(r.first))
	case callSet:
		return number(h.change(r.first, string(r.octets), r.second))
	case callGet:
		return number(h.variable(r.first, string(r.octets)))
	case callState:
		return words(h.state(uint16(r.first), uint16(r.second)))
	case callEvents:
		return words(h.events(r.first))
	}
	return notSupported(fmt.Sprintf("call %d", r.call))
}

// write sends the answer to a request, with all packets that were sent if the request asks for them.
func (s *session) write(to io.Writer, call uint32, a answer) error {
	var now, deadline uint64
	deadline = ^uint64(0)
	var packets [][]byte
	if s.host != nil {
		if call != callAdvance && call != callPacket {
			s.host.settle()
		} else {
			packets = s.host.sent
			s.host.sent = nil
		}
		now, deadline = s.host.now(), s.host.deadline()
	}
	out := make([]byte, 4, 64+len(a.octets))
	out = binary.LittleEndian.AppendUint64(out, uint64(a.result))
	out = binary.LittleEndian.AppendUint64(out, now)
	out = binary.LittleEndian.AppendUint64(out, deadline)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(packets)))
	for _, packet := range packets {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(packet)))
		out = append(out, packet...)
	}
	out = append(out, a.octets...)
	binary.LittleEndian.PutUint32(out, uint32(len(out)-4))
	_, err := to.Write(out)
	return err
}

// version returns that of the module with the stack, without its zeros: date and commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "?"
	}
	for _, module := range info.Deps {
		if module.Path == "gvisor.dev/gvisor" {
			parts := strings.Split(module.Version, "-")
			if len(parts) == 3 && len(parts[1]) == 14 {
				if _, err := strconv.Atoi(parts[1]); err == nil {
					return parts[1][:8]
				}
			}
			return module.Version
		}
	}
	return "?"
}

func main() {
	log.SetTarget(&log.GoogleEmitter{Writer: &log.Writer{Next: io.Discard}})
	s := &session{quiet: newQuiet()}
	for {
		r, err := read(os.Stdin)
		if err == io.EOF {
			return
		}
		if err == nil {
			err = s.write(os.Stdout, r.call, s.do(r))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
