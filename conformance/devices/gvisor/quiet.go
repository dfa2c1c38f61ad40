// What makes a run repeatable: the goroutines' rest, and the source of random numbers.
package main

import (
	"math/rand"
	"runtime"
	"runtime/metrics"
	"sync"
)

// quiet waits until each goroutine of the stack waits for a packet or a timer.
//
// With one processor (GOMAXPROCS) this goroutine is the only one that runs, so the scheduler's count
// of those that are ready to run is exact: nobody changes it meanwhile. The stack makes no system
// call and never sleeps, so a goroutine that is not ready can only be woken by this one.
type quiet struct {
	ready []metrics.Sample
}

func newQuiet() *quiet {
	runtime.GOMAXPROCS(1)
	return &quiet{[]metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}}
}

func (q *quiet) wait() {
	for {
		runtime.Gosched()
		metrics.Read(q.ready)
		if q.ready[0].Value.Uint64() == 0 {
			return
		}
	}
}

// random is the only source of random numbers: it depends on the seed alone. It is an io.Reader for
// the stack's keys, and a rand.Source for all else.
type random struct {
	mu     sync.Mutex
	source rand.Source64
}

func newRandom(seed uint64) *random {
	return &random{source: rand.NewSource(int64(seed)).(rand.Source64)}
}

func (r *random) Read(to []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range to {
		to[i] = byte(r.source.Uint64() >> 32)
	}
	return len(to), nil
}

func (r *random) Int63() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source.Int63()
}

func (r *random) Uint64() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source.Uint64()
}

// Seed does nothing: the seed is that of the device.
func (r *random) Seed(int64) {}
