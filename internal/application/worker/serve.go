// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"slipway.dev/slipway/internal/application/render"
)

// Argument starts a program as a worker, when it is the first and only one.
const Argument = "render-worker"

// Limits of one request. They hold inside of a worker and cannot be changed from outside, so that the same request is judged alike
// everywhere.
const (
	// cpuTime is how long a request may keep the processor busy. It is not a time by the clock: on a machine with much to do, a
	// request waits for the processor and is not to blame for it. A component with five traits takes 9 ms.
	cpuTime = 3 * time.Second
	// memory is how many bytes a worker may have in use before a request is given up.
	memory = 128 << 20
	// hardMemory is how many bytes the kernel gives a worker (RLIMIT_DATA): what one allocation could take before it is seen.
	hardMemory = 256 << 20
	// maxStack is how many bytes recursion may take.
	maxStack = 64 << 20
	// watchEvery is how often a worker looks at what it uses.
	watchEvery = 10 * time.Millisecond
)

// limit is what a request has exceeded.
type limit string

const (
	limitTime      limit = "time"
	limitMemory    limit = "memory"
	limitRecursion limit = "recursion"
)

// Main is the whole program of a worker. It returns the exit status when there is nothing more to do.
func Main(clock clock.WithTicker) int { return serve(clock, cpuTime) }

// IsAsked tells whether a program was started as a worker, by its arguments (os.Args).
func IsAsked(args []string) bool { return len(args) == 2 && args[1] == Argument }

// serve answers questions, each within the given time of the processor.
func serve(clock clock.WithTicker, cpu time.Duration) int {
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(memory) // the collector works harder when it comes near; it is no limit
	if err := confine(); err != nil {
		fmt.Fprintln(os.Stderr, "confining the worker:", err)
		return 1
	}
	questions := make(chan question)
	go func() {
		for {
			var q question
			if err := readFrame(os.Stdin, &q); err != nil {
				// Also in the middle of an evaluation: nobody waits for it any more.
				if errors.Is(err, io.EOF) {
					os.Exit(0)
				}
				fmt.Fprintln(os.Stderr, "reading a request:", err)
				os.Exit(1)
			}
			questions <- q
		}
	}()
	out := &writer{w: os.Stdout}
	for q := range questions {
		done, watched := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(watched)
			watch(clock, cpu, done, func(l limit) {
				out.last(answer{Exceeded: l})
				os.Exit(0)
			})
		}()
		last := consider(q, func(r render.Reached) { out.progress(answer{Reached: &r}) })
		close(done)
		<-watched
		out.last(last)
		out.again()
	}
	return 0
}

// consider answers one question.
func consider(q question, reached func(render.Reached)) (a answer) {
	at := render.Reached{}
	defer func() {
		if p := recover(); p != nil {
			a = answer{Problems: render.Problems{problem(q, at, fmt.Sprintf("CUE cannot evaluate it, and says: %.200v", p))}}
		}
	}()
	var err error
	switch {
	case q.Render != nil:
		var result render.Result
		result, err = render.Evaluate(*q.Render, func(r render.Reached) {
			at = r
			reached(r)
		})
		a.Result = &result
	case q.Health != nil:
		var health render.Health
		health, err = render.Judge(*q.Health)
		a.Health = &health
	case q.Define != nil:
		var described render.Description
		described, err = render.Describe(*q.Define)
		a.Described = &described
	default:
		err = errors.New("a question asks for nothing")
	}
	if err == nil {
		return a
	}
	if problems := render.ProblemsOf(err); len(problems) > 0 {
		return answer{Problems: problems, Described: a.Described}
	}
	return answer{Problems: render.Problems{problem(q, at, err.Error())}}
}

// problem blames the definition that was reached.
func problem(q question, at render.Reached, message string) render.Problem {
	switch {
	case q.Render != nil:
		if at.Definition == "" {
			at.Definition = q.Render.Component.Type
		}
		return render.Problem{Component: q.Render.Component.Name, Definition: at.Definition, IsTrait: at.IsTrait, Field: "template", Message: message}
	case q.Health != nil:
		return render.Problem{Component: q.Health.Component, Definition: q.Health.Type, Field: "status", Message: message}
	case q.Define != nil:
		return render.Problem{Definition: q.Define.Name, IsTrait: q.Define.IsTrait, Field: "template", Message: message}
	}
	return render.Problem{Field: "request", Message: message}
}

// watch calls exceeded when the process has used more than a request may, and ends with done.
func watch(clock clock.WithTicker, cpu time.Duration, done <-chan struct{}, exceeded func(limit)) {
	begin := processorTime()
	ticker := clock.NewTicker(watchEvery)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		select {
		case <-done:
			return
		case <-ticker.C():
		}
		metrics.Read(sample)
		switch {
		case processorTime()-begin > cpu:
			exceeded(limitTime)
		case sample[0].Value.Uint64()-sample[1].Value.Uint64() > memory:
			exceeded(limitMemory)
		}
	}
}

// writer lets one last answer to each question through.
type writer struct {
	mu   sync.Mutex
	w    io.Writer
	done bool
}

func (w *writer) progress(a answer) { w.write(a, false) }

func (w *writer) last(a answer) { w.write(a, true) }

func (w *writer) again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = false
}

func (w *writer) write(a answer, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	w.done = last
	if err := writeFrame(w.w, a); err != nil {
		fmt.Fprintln(os.Stderr, "answering:", err)
		os.Exit(1)
	}
}
