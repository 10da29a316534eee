// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
)

const megabyte = 1e6

// subject is a controller that is measured.
type subject struct {
	name string
	// pid of its process; 0 if this machine cannot see it: there are no figures of CPU and memory then.
	pid int
	// agent is how its user agent begins.
	agent string
	// ended closes when the process ends; nil if nobody tells.
	ended <-chan struct{}
}

func (b *bench) newRow(pods int, subject, scenario string) *row {
	r := &row{Run: b.run, Pods: pods, Subject: subject, Scenario: scenario}
	if busy, known := load(); known {
		r.set(loadBefore, busy)
	}
	return r
}

// finish runs a scenario and keeps its row. It tells whether the scenario came to its end.
func (b *bench) finish(r *row, scenario func() error) bool {
	b.say("  %s %s, %d pods", r.Subject, r.Scenario, r.Pods)
	begin := time.Now()
	err := scenario()
	if err != nil {
		r.Error = err.Error()
		b.say("    failed: %v", err)
	} else {
		b.say("    done after %.1f s", time.Since(begin).Seconds())
	}
	b.report.Rows = append(b.report.Rows, *r)
	return err == nil
}

// measured runs act and notes what it cost: time, the subject's CPU and memory, everybody's requests.
func (b *bench) measured(ctx context.Context, r *row, s subject, act func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.o.patience, fmt.Errorf("it took longer than --patience %s", b.o.patience))
	defer cancel()
	ctx, leave := orEnded(ctx, s.ended)
	defer leave()
	from, err := b.cluster.logEnd()
	if err != nil {
		return err
	}
	processes := maps.Clone(b.cluster.processes)
	if s.pid == 0 {
		r.note("the process of %s cannot be seen from here: no CPU, no memory", s.name)
	} else {
		processes[s.name] = s.pid
	}
	var most *peak
	if s.pid != 0 {
		most = watchPeak(s.pid)
	}
	used, begin := usage(processes), time.Now()
	err = act(ctx)
	wall := time.Since(begin)
	for name, seconds := range usage(processes) {
		if before, known := used[name]; known {
			r.set(componentsName+name, seconds-before)
		}
	}
	if most != nil {
		bytes, peakErr := most.end()
		if peakErr != nil && err == nil {
			err = peakErr
		}
		r.set(peakMB, float64(bytes)/megabyte)
		if most.sampled {
			r.note("peak memory is sampled every %s", sampleEvery)
		}
	}
	if err != nil {
		return err
	}
	r.set(wallSeconds, wall.Seconds())
	if cpu, known := r.Figures[componentsName+s.name]; known {
		r.set(cpuTime, cpu)
		r.set(cpuPer1000, cpu*1000/float64(r.Pods))
	}
	return b.countRequests(ctx, r, s, from)
}

// usage is the CPU time of processes so far; those that are gone are missing.
func usage(processes map[string]int) map[string]float64 {
	result := map[string]float64{}
	for name, pid := range processes {
		if seconds, err := cpuSeconds(pid); err == nil {
			result[name] = seconds
		}
	}
	return result
}

// countRequests counts what the audit log got since an offset, and what still comes right behind the scenario: the
// last statuses belong to it.
func (b *bench) countRequests(ctx context.Context, r *row, s subject, from int64) error {
	if err := pause(ctx, settle); err != nil {
		return err
	}
	if b.cluster.audit == "" {
		return nil
	}
	to, err := b.cluster.logEnd()
	if err != nil {
		return err
	}
	counts, err := tallyFile(b.cluster.audit, from, to, s.agent)
	if err != nil {
		return err
	}
	r.Requests = counts.plain()
	all, _ := counts.writes(byManager, true)
	perPod, conflicts := counts.writes(byManager, false)
	r.set(allWrites, float64(all))
	r.set(writesPerPod, float64(perPod)/float64(r.Pods))
	if perPod > 0 {
		r.set(conflictShare, 100*float64(conflicts)/float64(perPod))
	}
	ofNodes, _ := counts.writes(byNodes, true)
	r.set(nodeWrites, float64(ofNodes))
	if b.cluster.own || counts.knowsReads() { // the policy of the bench's own cluster has them, also when nobody reads
		r.set(allReads, float64(counts.reads(byManager)))
	} else {
		b.remark("The audit log has no reads (its policy leaves them out), so only writes are counted.")
	}
	return nil
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// parallel calls do for 0 to n-1 with so many workers, and stops at the first error.
func parallel(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	work := make(chan int)
	for range workers {
		group.Go(func() error {
			for i := range work {
				if err := do(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(work)
		for i := range n {
			select {
			case work <- i:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	return group.Wait()
}
