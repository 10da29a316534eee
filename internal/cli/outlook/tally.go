// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// tally are the pods of a workload of which only numbers are known.
type tally struct {
	// template is the one that updated pods are on.
	template      string
	pods, updated int
	// available are of all pods, updatedAvailable of those that are updated.
	available, updatedAvailable int
}

// overlay has a look see the numbers. Settled: its own controller has seen what it is asked for, and has done it.
func (t *tally) overlay(w *engine.Workload, settled bool) {
	w.Pods, w.Ready, w.Available = t.pods, t.available, t.available
	w.Seen = settled
	if w.Versions {
		w.Updated, w.UpdatedAvailable = 0, 0
		if w.Template == t.template {
			w.Updated, w.UpdatedAvailable = t.updated, t.updatedAvailable
		}
		w.Differs = !w.Seen || w.Updated < w.Pods
	}
	if settled {
		w.Busy, w.Waits = "", ""
	}
}

// followByNumbers has as many pods be there, and be updated, as are asked for.
func (p *play) followByNumbers(w *workload, s *adapter.Seen) []story.Moment {
	seen := &s.Workload
	t := w.tally
	if t == nil {
		t = &tally{template: seen.Template, pods: seen.Pods, updated: seen.Updated, available: seen.Available, updatedAvailable: seen.UpdatedAvailable}
		w.tally = t
		if seen.Versions {
			p.assume(fmt.Sprintf("how many pods of a %s change at once is for its own controller: all that a batch allows are counted as unavailable then", s.Kind.ID().Kind))
		}
		if missing := t.pods - t.available; missing > 0 {
			p.assume(step.Counted(missing, "pod of ", "pods of ") + nameOf(s) + " that are not available now are taken to become so")
		}
	}
	if t.template != seen.Template { // brought back, or newer
		back := 0
		if seen.Template == seen.Before.Template {
			back = t.pods - t.updated
		}
		t.template, t.updated, t.updatedAvailable = seen.Template, back, back
	}
	var moments []story.Moment
	moment := func(n int, verb story.Verb, during int) {
		moments = append(moments, story.Moment{
			Actions: []story.Action{{Object: step.Counted(n, "pod of ", "pods of ") + nameOf(s), Verb: verb, Why: asked}},
			During:  story.Count{Available: during, Total: t.pods}, After: story.Count{Available: t.pods, Total: t.pods},
		})
		t.available = t.pods
	}
	switch grown := seen.Replicas - t.pods; {
	case grown > 0:
		during := t.available
		t.pods = seen.Replicas
		moment(grown, story.Create, during)
	case grown < 0:
		t.pods = seen.Replicas
		t.updated = min(t.updated, t.pods)
		moment(-grown, story.Delete, min(t.available, t.pods))
	}
	if !seen.Versions {
		t.available = t.pods
		return moments
	}
	wanted := max(t.updated, min(seen.Asked, t.pods))
	if s.Paused() {
		wanted = t.updated
	}
	if n := wanted - t.updated; n > 0 {
		t.updated = wanted
		moment(n, story.Update, max(t.available-n, 0))
	}
	t.available, t.updatedAvailable = t.pods, t.updated
	return moments
}

// asked is the reason of what is known by numbers only.
const asked = "it is asked for"

func (p *play) assume(text string) { p.story.Assumed = appendOnce(p.story.Assumed, text) }

func appendOnce(list []string, text string) []string {
	for _, other := range list {
		if other == text {
			return list
		}
	}
	return append(list, text)
}

// statusCount is how many pods a status speaks of.
func statusCount(o *unstructured.Unstructured) int {
	for _, field := range []string{"replicas", "currentNumberScheduled"} {
		if n, found, err := unstructured.NestedInt64(o.Object, "status", field); err == nil && found {
			return int(n)
		}
	}
	return 0
}
