// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/measure"
)

// cluster is a small model of what a rollout acts on. Workloads take one tick to see what they are asked for, one more for their
// pods, and one more until those are available.
type cluster struct {
	world World
	now   time.Time
	// broken pods of the newest template never become available.
	broken bool
	// prunes: the server drops the partition of what is written.
	prunes bool
	// hooks answer the n-th delivery of a call; nil passes at once.
	hooks func(key string, attempt int) Call
	// metric is the number that each sample gives.
	metric float64
	// silent is what came last of asking for metrics that never answer; empty when they do.
	silent string

	lines []string
	gone  bool
	calls []string
}

func newCluster(w World) *cluster {
	w.Rollout.Finalizer = false
	w.Target.Held = false
	w.Calls, w.Samples = map[string]Call{}, map[string]Sample{}
	return &cluster{world: w, now: start}
}

// twoObjects is a rollout from one Deployment of n pods to another.
func twoObjects(n int) World {
	w := newWorld()
	w.Rollout.Target, w.Rollout.Source = newer, &older
	w.Target = Workload{Found: true, Seen: true, Template: "new"}
	w.Source = &Workload{Found: true, Seen: true, Template: "old", Replicas: n, Pods: n, Ready: n, Available: n}
	return w
}

// scaling is a change of the size of one object.
func scaling(from, to int) World {
	w := newWorld()
	w.Target.Versions, w.Target.Differs = false, false
	w.Target.Replicas, w.Target.Pods, w.Target.Ready, w.Target.Available = from, from, from, from
	w.Rollout.Plan.TargetSize = ptr.To(int32(to))
	return w
}

// observed is the world as it is looked at: what runs, and not what is asked for, unless that is the same.
func (c *cluster) observed() World {
	w := c.world
	if !w.Target.Held { // nothing stands in it that is of before, and so it is as it was
		w.Target.Before.Replicas = w.Target.Replicas
	}
	if w.Source != nil && !w.Source.Held {
		source := *w.Source
		source.Before.Replicas = source.Replicas
		w.Source = &source
	}
	return w
}

// look decides once and acts on it.
func (c *cluster) look() Plan {
	p := Next(c.observed(), c.now)
	c.tell(p)
	for _, a := range p.Actions {
		c.act(a)
	}
	c.world.Rollout.Status = p.Status
	return p
}

func (c *cluster) tell(p Plan) {
	line := fmt.Sprintf("%4.0fs %s: %s", c.now.Sub(start).Seconds(), StateOf(&p.Status), p.Status.Message)
	if s := p.Status; s.Running != nil {
		line = fmt.Sprintf("%s [%d/%d of %d]", line, s.UpgradedReadyReplicas, s.UpgradedReplicas, s.RolloutTargetSize)
	}
	for _, a := range p.Actions {
		line += "\n        " + describe(a)
	}
	for _, n := range p.News {
		line += fmt.Sprintf("\n      ! %s: %s", n.Reason, n.Note)
	}
	if len(c.lines) == 0 || c.lines[len(c.lines)-1][5:] != line[5:] {
		c.lines = append(c.lines, line)
	}
}

func describe(a Action) string {
	switch a := a.(type) {
	case Enter:
		return joined("put the finalizer on:", a.Why())
	case Leave:
		return joined("take the finalizer off:", a.Why())
	case Hold:
		return joined("hold the", a.On, "with", a.Asked, "asked:", a.Why())
	case Mark:
		return joined("mark the", a.On, ":", a.Why())
	case Unpause:
		return joined("unpause the", a.On, ":", a.Why())
	case Advance:
		return joined("advance to", a.To, "pods:", a.Why())
	case Resize:
		return joined("resize the", a.On, "to", a.To, "pods:", a.Why())
	case BringBack:
		return joined("bring back the template with", a.Asked, "asked:", a.Why())
	case Release:
		return joined("release the", a.On, "opens", a.Opens, ":", a.Why())
	case Invoke:
		return joined("call", a.Hook.Name, a.Phase, a.Key)
	case Measure:
		return joined("measure", a.Metric.Name, a.Key)
	}
	panic(fmt.Sprintf("%T is not known", a))
}

func (c *cluster) side(s Side) *Workload {
	if s == Source {
		return c.world.Source
	}
	return &c.world.Target
}

func (c *cluster) act(a Action) {
	switch a := a.(type) {
	case Enter:
		c.world.Rollout.Finalizer = true
	case Leave:
		c.world.Rollout.Finalizer = false
		c.gone = c.world.Rollout.Deleting
	case Hold:
		w := c.side(a.On)
		w.Held, w.Asked, w.Seen = true, a.Asked, false
		if c.prunes {
			w.Asked, w.Unkept = w.Replicas, ".spec.strategy.partition"
		}
		w.Before = Before{Replicas: w.Replicas, Template: "old", Known: true}
	case Mark:
		c.side(a.On).Unmarked = false
	case Unpause:
		c.side(a.On).Paused, c.side(a.On).Frozen, c.side(a.On).Seen = false, false, false
	case Advance:
		c.world.Target.Asked, c.world.Target.Seen = a.To, false
	case Resize:
		w := c.side(a.On)
		w.Replicas, w.Seen = a.To, false
	case BringBack:
		w := &c.world.Target
		w.Template, w.Before.Back = w.Before.Template, true
		w.Updated, w.Asked, w.Seen = w.Pods-w.Updated, a.Asked, false
		w.UpdatedAvailable, c.broken = w.Updated, false
	case Release:
		w := c.side(a.On)
		w.Held, w.Before = false, Before{} // what was before is remembered on the workload only while it is held
		w.Asked = a.Asked
		if a.Opens {
			w.Asked = w.Replicas
		}
	case Invoke:
		c.calls = append(c.calls, a.Key)
		call := c.world.Calls[a.Key]
		if call.Answered {
			return
		}
		attempts := call.Attempts + 1
		call = Call{Answered: true, Passed: true}
		if c.hooks != nil {
			call = c.hooks(a.Key, attempts)
		}
		call.Attempts = attempts
		c.world.Calls[a.Key] = call
	case Measure:
		if c.silent != "" {
			c.world.Asked = map[string]string{a.Key: c.silent}
			return
		}
		c.world.Samples[a.Key] = Sample{measure.Sample{Kind: measure.Measured, Value: c.metric}, c.now}
	}
}

// tick lets the workloads do what they are asked for, one thing at a time.
func (c *cluster) tick() {
	for _, s := range []Side{Target, Source} {
		w := c.side(s)
		if w == nil || !w.Found {
			continue
		}
		switch {
		case !w.Seen:
			w.Seen = true
		case w.Pods != w.Replicas:
			w.Pods = w.Replicas
			w.Updated = max(min(w.Updated, w.Pods), 0)
		case w.Versions && !w.Paused && w.Updated < min(w.Asked, w.Pods):
			w.Updated = min(w.Asked, w.Pods)
		}
		bad := c.broken && (s == Target)
		switch {
		case w.Versions && bad:
			w.Available = w.Pods - w.Updated
		case w.Versions:
			w.UpdatedAvailable, w.Available = w.Updated, w.Pods
		case !bad:
			w.Available = w.Pods
		}
		w.Available, w.UpdatedAvailable = min(w.Available, w.Pods), min(w.UpdatedAvailable, w.Updated)
		w.Ready = w.Available
	}
}

// run looks every second, or when a plan asks for it, until nothing moves any more or the time is up.
func (c *cluster) run(limit time.Duration, each func(*cluster)) {
	for c.now.Sub(start) < limit && !c.gone {
		if each != nil {
			each(c)
		}
		p := c.look()
		if p.Status.RollingState.IsFinal() && len(p.Actions) == 0 && !c.world.Rollout.Deleting {
			if again := Next(c.observed(), c.now); len(again.Actions) == 0 && StateOf(&again.Status) == StateOf(&p.Status) {
				return
			}
		}
		step := time.Second
		if p.LookAgain == time.Millisecond {
			continue
		}
		c.tick()
		c.now = c.now.Add(step)
	}
}

func (c *cluster) transcript() string { return strings.Join(c.lines, "\n") + "\n" }

func (c *cluster) edit(change func(*Rollout)) {
	change(&c.world.Rollout)
	c.world.Rollout.Generation++
}

func (c *cluster) in(s State) bool { return StateOf(&c.world.Rollout.Status) == s }

func failurePolicy(p rolloutv1alpha1.FailurePolicy) func(*World) {
	return func(w *World) { w.Rollout.Plan.FailurePolicy = p }
}
