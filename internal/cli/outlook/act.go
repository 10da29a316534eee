// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// act does what the engine asks for, and stores its status, as the controller does: a look that writes the rollout itself
// leaves the status to the next one. It returns whether there was anything.
func (p *play) act(ctx context.Context, next *engine.Plan) (bool, error) {
	written := false
	for _, action := range next.Actions {
		switch a := action.(type) {
		case engine.Enter:
			p.asks.SetFinalizers(append(slices.Clone(p.asks.GetFinalizers()), rolloutv1alpha1.FinalizerRollout))
			written = true
		case engine.Leave:
			p.asks.SetFinalizers(slices.DeleteFunc(slices.Clone(p.asks.GetFinalizers()), func(f string) bool { return f == rolloutv1alpha1.FinalizerRollout }))
			written = true
		case engine.Invoke:
			p.calls[a.Key] = engine.Call{Answered: true, Passed: true, Attempts: 1}
		case engine.Measure:
			p.samples[a.Key] = engine.Sample{Sample: goodSample(&a.Metric), At: p.now}
		case engine.Hold, engine.Unpause, engine.Mark, engine.Advance, engine.Resize, engine.BringBack, engine.Release:
			side := engine.SideOf(a)
			steps, err := adapter.Steps(p.seen[side], p.holder(), a)
			if err != nil {
				return false, err //nolint:wrapcheck // it says what cannot be done
			}
			p.holds = true
			for _, s := range steps {
				if err := p.take(ctx, side, s); err != nil {
					return false, err
				}
			}
		}
	}
	if !written {
		var err error
		if p.asks, err = asking(p.kind.WithStatus(p.asks.Object, next.Status)); err != nil {
			return false, err
		}
	}
	return len(next.Actions) > 0, nil
}

// goodSample is one that is in range.
func goodSample(m *rolloutv1alpha1.CanaryMetric) measure.Sample {
	within, err := measure.RangeOf(m.MetricsRange)
	switch {
	case err != nil:
		return measure.Sample{Kind: measure.Fault, Message: err.Error()}
	case within.Min != nil:
		return measure.Of(*within.Min)
	}
	return measure.Of(*within.Max)
}

// take does what the API server does with a step of an adapter.
func (p *play) take(ctx context.Context, side engine.Side, s step.Step) error {
	seen := p.seen[side]
	w, err := p.workload(ctx, seen.Kind.ID(), p.at(p.ref(side)).key)
	if err != nil {
		return err
	}
	switch s := s.(type) {
	case step.ChangeSet:
		p.replace(w, s.After.(*unstructured.Unstructured))
	case step.DeletePod:
		at := slices.IndexFunc(p.pods, func(c *corev1.Pod) bool { return c.UID == s.UID })
		if at < 0 {
			return nil
		}
		w.recreated = append(w.recreated, story.Action{
			Object: s.Name, Verb: story.Recreate, From: pod.RevisionHash(p.pods[at]), Why: s.Why(),
			To: revision.HashOf(statusText(w.object, "updateRevision")),
		})
		p.remove(s.UID)
		w.version++
	default:
		return fmt.Errorf("%T is not a step of an adapter", s)
	}
	return nil
}

// ref is the workload that a look saw on a side.
func (p *play) ref(side engine.Side) rolloutv1alpha1.WorkloadReference {
	target, source := p.world.Rollout.Looks()
	if side == engine.Source && source != nil {
		return *source
	}
	return target
}

func statusText(o *unstructured.Unstructured, field string) string {
	text, _, _ := unstructured.NestedString(o.Object, "status", field)
	return text
}
