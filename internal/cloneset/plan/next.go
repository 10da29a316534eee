// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// Next decides one pass. The policies are tried in this order:
//
//	record   make sure that a revision holds the template
//	claims   delete the claims of pods that we deleted, and those that are not to be reused
//	release  give pods up that no longer match the selector
//	refresh  bring every pod's own affairs to an end: gate, grace period, labels
//	scale    create and delete pods; when it acts, nothing is updated in this pass
//	update   bring pods to the update revision, within the allowances
//	mend     create claims anew that pods still wait for
//	tidy     remove finished pods, revisions that history no longer needs, and names of pods that are gone
func Next(world World, now time.Time) Plan {
	p := &pass{world: world, now: now, asked: asked(&world, now), pods: map[types.UID]step.Step{}, turns: map[types.UID]int{}}
	if p.plan.Invalid = p.read(); p.plan.Invalid != nil {
		p.plan.UpdateRevision, p.plan.CurrentRevision = world.Set.Status.UpdateRevision, world.Set.Status.CurrentRevision
		p.asked.Update.Name = p.plan.UpdateRevision
		p.judge()
		return p.plan
	}
	recorded := p.record()
	p.judge()
	if world.Set.DeletionTimestamp != nil {
		p.plan.Steps = nil
		return p.plan
	}
	if !recorded {
		return p.plan
	}
	p.tendClaims()
	p.release()
	p.refresh()
	if scaled := p.scale(); !scaled {
		p.update()
	}
	p.collect()
	p.mend()
	p.tidy()
	return p.plan
}

// pass is the working memory of one call of Next.
type pass struct {
	world    World
	now      time.Time
	plan     Plan
	selector labels.Selector
	// asked is what each pod is asked for, the update revision among it; currentRevision is the other side of the release.
	asked           *member.Set
	currentRevision revision.Revision
	// pods holds the one step that each pod gets in this pass. A later policy overrides an earlier one:
	// to put a pod into service that is about to be deleted would be a write for nothing.
	pods map[types.UID]step.Step
	// turns are the places of pods in the order of updates.
	turns map[types.UID]int
	// held are the claims and who holds them; see holdings.
	held *holdings
	// creations come after the steps of living pods.
	creations []step.Step
}

// read resolves the spec. It fails on what the API server would have rejected, had the schema been there
// when the object was stored.
func (p *pass) read() error {
	spec := &p.world.Set.Spec
	var err error
	if p.selector, err = pod.Selector(spec.Selector, spec.Template.Labels); err != nil {
		return err
	}
	if p.world.Live.Err != nil {
		return fmt.Errorf("spec.template: %w", p.world.Live.Err)
	}
	strategy := &spec.UpdateStrategy
	p.plan.Limits, err = budget.NewLimits(budget.Spec{
		Replicas: spec.Replicas, Partition: strategy.Partition, MaxSurge: strategy.MaxSurge,
		MaxUnavailable: strategy.MaxUnavailable, ScaleMaxUnavailable: spec.ScaleStrategy.MaxUnavailable, Paused: strategy.Paused,
	})
	if err != nil {
		return err
	}
	_, err = pod.ByPriority(nil, strategy.PriorityStrategy)
	return err
}

func (p *pass) lookAgainIn(wait time.Duration) {
	if wait > 0 && (p.plan.LookAgain == 0 || wait < p.plan.LookAgain) {
		p.plan.LookAgain = wait
	}
}

// collect puts the steps of the living pods into the order of the world, those of updates behind them in the order of
// updates, the deletion of its claims behind that of a pod, and creations behind them all.
func (p *pass) collect() {
	ordered := slices.Clone(p.world.Pods)
	slices.SortStableFunc(ordered, func(a, b *corev1.Pod) int { return cmp.Compare(p.turns[a.UID], p.turns[b.UID]) })
	for _, candidate := range ordered {
		if s, decided := p.pods[candidate.UID]; decided {
			p.plan.Steps = append(p.plan.Steps, s)
			if _, doomed := s.(step.DeletePod); doomed {
				p.deleteWith(candidate)
			}
		}
	}
	p.plan.Steps = append(p.plan.Steps, p.creations...)
}

// selects tells whether the pod is the set's by its labels. A selector that cannot be read gives no pod up.
func (p *pass) selects(candidate *corev1.Pod) bool {
	return p.selector == nil || p.selector.Matches(labels.Set(candidate.Labels))
}
