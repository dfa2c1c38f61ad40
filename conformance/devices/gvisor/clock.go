// The clock of the stack: it stands still until the tester advances it.
package main

import (
	"container/heap"
	"math"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// At the creation of a device the stack's monotonic clock shows a day, as of a host that has run for
// one: the stack takes 0 for an instant that never was.
const origin = 24 * time.Hour

// The end of time, in nanoseconds: no timer is set later.
const never = math.MaxInt64

// clock implements tcpip.Clock. Timers expire in the order of their instants, and those of one
// instant in the order in which they were set.
type clock struct {
	mu     sync.Mutex
	now    int64 // since the stack's origin, in nanoseconds
	set    uint64
	timers timers
}

type timer struct {
	clock    *clock
	due      int64
	order    uint64
	position int // in the heap; -1: it does not run
	expire   func()
}

type timers []*timer

func (t timers) Len() int { return len(t) }
func (t timers) Less(a, b int) bool {
	return t[a].due < t[b].due || t[a].due == t[b].due && t[a].order < t[b].order
}
func (t timers) Swap(a, b int) {
	t[a], t[b] = t[b], t[a]
	t[a].position, t[b].position = a, b
}
func (t *timers) Push(one any) {
	one.(*timer).position = len(*t)
	*t = append(*t, one.(*timer))
}
func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	last.position = -1
	return last
}

// Now returns the wall clock, which begins in 1970.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Unix(0, c.now)
}

// NowMonotonic returns the clock that timers use.
func (c *clock) NowMonotonic() tcpip.MonotonicTime {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tcpip.MonotonicTime{}.Add(time.Duration(c.now))
}

// AfterFunc starts a timer. The stack's goroutines and timers call it.
func (c *clock) AfterFunc(after time.Duration, expire func()) tcpip.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{clock: c, position: -1, expire: expire}
	c.start(t, after)
	return t
}

// start sets a timer that does not run; c.mu is held.
func (c *clock) start(t *timer, after time.Duration) {
	after = max(after, 0)
	t.due = never
	if c.now <= never-int64(after) {
		t.due = c.now + int64(after)
	}
	c.set++
	t.order = c.set
	heap.Push(&c.timers, t)
}

func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.stop()
}

func (t *timer) stop() bool {
	if t.position < 0 {
		return false
	}
	heap.Remove(&t.clock.timers, t.position)
	return true
}

func (t *timer) Reset(after time.Duration) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.stop()
	t.clock.start(t, after)
}

// advance sets the time, and runs no timer.
func (c *clock) advance(now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, now)
}

// due returns when the next timer expires.
func (c *clock) due() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 {
		return never
	}
	return c.timers[0].due
}

// expireNext runs the first timer that is due, if there is one. No goroutine of the stack runs
// meanwhile, so none holds a lock that the timer needs.
func (c *clock) expireNext() bool {
	c.mu.Lock()
	if len(c.timers) == 0 || c.timers[0].due > c.now {
		c.mu.Unlock()
		return false
	}
	t := heap.Pop(&c.timers).(*timer)
	c.mu.Unlock()
	t.expire()
	return true
}
