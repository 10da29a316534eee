// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"slipway.dev/slipway/internal/application/render"
)

const (
	// Size is how many workers a pool has at most. The second one is started when the first is busy.
	Size = 2
	// answerTime is how long a request may take by the clock. It is long, since the processor may be busy with other things.
	answerTime = 60 * time.Second
	// idleTime is how long a worker is kept without a request.
	idleTime = 5 * time.Minute
	// maxRefused is how many requests are remembered that were given up.
	maxRefused = 1000
)

// ErrNoAnswer says that a worker did not answer in time, or was ended from outside. The request may be good and can be tried again.
var ErrNoAnswer = errors.New("the rendering did not end in time; the machine may be busy")

// Pool renders by workers. Its methods may be called at the same time.
type Pool struct {
	program string
	clock   clock.WithTicker
	free    chan struct{} // one for each worker that may run

	mu      sync.Mutex
	closed  bool
	waiting []*process
	refused map[[sha256.Size]byte]error
	order   [][sha256.Size]byte
}

// New makes a pool of the program, which has to call Main when its first argument is Argument. No worker is started before there is
// a request. Close ends them.
func New(program string, clock clock.WithTicker) *Pool {
	p := &Pool{program: program, clock: clock, free: make(chan struct{}, Size), refused: map[[sha256.Size]byte]error{}}
	for range Size {
		p.free <- struct{}{}
	}
	return p
}

// Render renders a component. The error is of type render.Problems when the component or one of its definitions is wrong, or asks
// for more than a worker may use; the same request is then answered from memory and not tried again. Other errors pass.
func (p *Pool) Render(ctx context.Context, request render.Request) (render.Result, error) {
	a, err := p.ask(ctx, question{Render: &request})
	if err != nil || a.Result == nil {
		return render.Result{}, err
	}
	return *a.Result, nil
}

// Judge evaluates the health of a live workload. Errors are those of Render.
func (p *Pool) Judge(ctx context.Context, request render.HealthRequest) (render.Health, error) {
	a, err := p.ask(ctx, question{Health: &request})
	if err != nil || a.Health == nil {
		return render.Health{}, err
	}
	return *a.Health, nil
}

// Describe lists the parameters of a definition and looks for what is wrong with it. Errors are those of Render.
func (p *Pool) Describe(ctx context.Context, definition render.Definition) (render.Description, error) {
	a, err := p.ask(ctx, question{Define: &definition})
	if a.Described == nil {
		return render.Description{}, err
	}
	return *a.Described, err
}

func (p *Pool) ask(ctx context.Context, q question) (answer, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return answer{}, fmt.Errorf("encoding a request: %w", err)
	}
	if len(raw) > maxFrame {
		return answer{}, render.Problems{problem(q, render.Reached{}, fmt.Sprintf("a request of %d bytes; at most %d are allowed", len(raw), maxFrame))}
	}
	key := sha256.Sum256(raw)
	if err := p.remembered(key); err != nil {
		return answer{}, err
	}
	select {
	case <-ctx.Done():
		return answer{}, fmt.Errorf("waiting for a worker: %w", ctx.Err())
	case <-p.free:
	}
	defer func() { p.free <- struct{}{} }()

	a, err := p.try(ctx, q, raw)
	if problems := render.ProblemsOf(err); len(problems) > 0 {
		p.remember(key, err)
		return answer{}, err
	}
	if err == nil && len(a.Problems) > 0 {
		return a, a.Problems
	}
	return a, err
}

// try has one worker answer, and another one if the first was gone already.
func (p *Pool) try(ctx context.Context, q question, raw []byte) (answer, error) {
	timed, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		w, err := p.take()
		if err != nil {
			return answer{}, err
		}
		used := w.asked > 0
		a, reached, err := w.ask(timed, raw)
		switch {
		case err == nil && a.Exceeded != "":
			return answer{}, exceeded(q, reached, a.Exceeded)
		case err == nil:
			p.giveBack(w)
			return a, nil
		case ctx.Err() != nil:
			return answer{}, fmt.Errorf("rendering: %w", ctx.Err())
		case timed.Err() != nil:
			return answer{}, fmt.Errorf("%w: %s", ErrNoAnswer, problem(q, reached, fmt.Sprintf("no answer within %s", answerTime)).Error())
		case w.death() != "":
			return answer{}, exceeded(q, reached, w.death())
		case used && reached == (render.Reached{}):
			continue // it had ended while it was idle: that is not the fault of this request
		}
		return answer{}, fmt.Errorf("%w: a worker ended: %w", ErrNoAnswer, w.words())
	}
}

// exceeded names the definition that asks for too much.
func exceeded(q question, reached render.Reached, l limit) error {
	var message string
	switch l {
	case limitTime:
		message = fmt.Sprintf("does not end within %s of processor time", cpuTime)
	case limitMemory:
		message = fmt.Sprintf("needs more than the %d MiB of memory that are allowed", memory>>20)
	case limitRecursion:
		message = "goes deeper into itself than is allowed"
	default:
		message = "asks for too much"
	}
	return render.Problems{problem(q, reached, message+"; it is tried again when the definition or the application changes")}
}

// take gives a worker that waits, or starts one.
func (p *Pool) take() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the workers are ended already")
	}
	if last := len(p.waiting) - 1; last >= 0 {
		w := p.waiting[last]
		p.waiting = p.waiting[:last]
		return w, nil
	}
	return start(p.program)
}

func (p *Pool) giveBack(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		w.end()
		return
	}
	w.idle = p.clock.Now()
	p.waiting = append(p.waiting, w)
}

func (p *Pool) remembered(key [sha256.Size]byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[key]
}

func (p *Pool) remember(key [sha256.Size]byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, has := p.refused[key]; !has {
		p.order = append(p.order, key)
	}
	p.refused[key] = err
	if len(p.order) > maxRefused {
		delete(p.refused, p.order[0])
		p.order = p.order[1:]
	}
}

// Start ends workers that have long had nothing to do, and all of them when the context ends. It is what a manager runs.
func (p *Pool) Start(ctx context.Context) error {
	ticker := p.clock.NewTicker(time.Minute)
	defer ticker.Stop()
	defer p.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			p.rest()
		}
	}
}

// rest ends the workers that are idle.
func (p *Pool) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.waiting[:0]
	for _, w := range p.waiting {
		if p.clock.Since(w.idle) < idleTime {
			kept = append(kept, w)
			continue
		}
		w.end()
	}
	p.waiting = kept
}

// Close ends all workers. One that is busy ends with its request.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.waiting {
		w.end()
	}
	p.waiting = nil
}
