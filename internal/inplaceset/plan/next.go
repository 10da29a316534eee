// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/traffic"
)

// Next decides one pass. The policies are tried in this order:
//
//	record   make sure that a revision holds the template
//	let go   take pods out of service that somebody has deleted, so that traffic leaves them
//	release  give pods up that no longer match the selector
//	refresh  bring every pod's own affairs to an end: gate, grace period, labels
//	scale    create and delete pods; when it acts, nothing is updated in this pass
//	update   bring pods to the update revision, within the allowances
//	tidy     remove finished pods, and revisions that history no longer needs
func Next(world World, now time.Time) Plan {
	p := &pass{world: world, now: now, pods: map[types.UID]step.Step{}, turns: map[types.UID]int{}}
	if p.plan.Invalid = p.read(); p.plan.Invalid != nil {
		p.plan.UpdateRevision, p.plan.CurrentRevision = world.Set.Status.UpdateRevision, world.Set.Status.CurrentRevision
		p.asked.Update.Name = p.plan.UpdateRevision
		p.judge()
		p.letGo()
		p.collect()
		return p.plan
	}
	recorded := p.record()
	p.judge()
	if world.Set.DeletionTimestamp != nil {
		p.plan.Steps = nil
	}
	p.letGo()
	if recorded && world.Set.DeletionTimestamp == nil {
		p.release()
		p.refresh()
		if scaled := p.scale(); !scaled {
			p.update()
		}
		p.tidy()
	}
	p.collect()
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
	// pods holds the one step that each pod gets in this pass. A later policy overrides an earlier one.
	pods map[types.UID]step.Step
	// turns are the places of pods in the order of updates.
	turns map[types.UID]int
	// creations and forgotten come after the steps of pods that exist.
	creations, forgotten []step.Step
}

// read resolves the spec. It fails on what the API server would have rejected, had the schema been there when the object
// was stored, and on an annotation that no schema can look at.
func (p *pass) read() error {
	set := p.world.Set
	components, wrongComponents := traffic.Components(set.Annotations)
	p.plan.Components = components
	p.asked = &member.Set{
		History: slices.Concat(p.world.Revisions, p.world.Orphans), Hooks: traffic.Hooks(components),
		Policy: member.InPlaceIfPossible, PolicyField: "kind InPlaceSet", Loss: "its successor gets another IP",
		Grace: time.Duration(set.Spec.Strategy.GracePeriodSeconds) * time.Second, MinReadySeconds: set.Spec.MinReadySeconds,
		RepeatsHash: true, GatesAll: true, ChoosesRecreated: true, ResizeOff: true, Readings: p.world.Readings, Now: p.now,
	}
	var err error
	if p.selector, err = pod.Selector(set.Spec.Selector, set.Spec.Template.Labels); err != nil {
		return err
	}
	if p.world.Live.Err != nil {
		return fmt.Errorf("spec.template: %w", p.world.Live.Err)
	}
	limits, wrongLimits := LimitsOf(&set.Spec)
	p.plan.Limits = limits
	return errors.Join(wrongLimits, wrongComponents)
}

// LimitsOf resolves the numbers of a spec. Its errors name the fields that cannot be read.
func LimitsOf(spec *cafev1alpha1.InPlaceSetSpec) (budget.Limits, error) {
	replicas := int(ptr.Deref(spec.Replicas, 1))
	partition, wrongPartition := budget.Partition(spec.Strategy.Partition, replicas, "spec.strategy.partition")
	allowed := cmp.Or(spec.Strategy.MaxUnavailable, ptr.To(intstr.FromString(cafev1alpha1.DefaultInPlaceSetMaxUnavailable)))
	unavailable, wrongUnavailable := budget.Resolve(allowed, replicas, budget.Down, "spec.strategy.maxUnavailable")
	return budget.Limits{Replicas: replicas, Partition: partition, Unavailable: max(unavailable, 1)}, errors.Join(wrongPartition, wrongUnavailable)
}

// record finds out which revision the template is, and sets both sides of the release. It returns false when the
// revision has to be created first.
func (p *pass) record() bool {
	set := p.world.Set
	entry := revision.Books{
		Owner: set, Reference: ownerReference(set), Live: p.world.Live, Own: p.world.Revisions, Orphans: p.world.Orphans,
		Current: set.Status.CurrentRevision, Taken: p.world.Taken, CollisionCount: ptr.Deref(set.Status.CollisionCount, 0),
	}.Record()
	p.plan.Steps = append(p.plan.Steps, entry.Steps...)
	p.plan.Invalid, p.plan.CollisionCount = entry.Err, entry.CollisionCount
	p.asked.Update, p.currentRevision = entry.Update, entry.Current
	p.plan.UpdateRevision, p.plan.CurrentRevision = entry.Update.Name, entry.Current.Name
	return entry.Recorded
}

func ownerReference(set *cafev1alpha1.InPlaceSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind))
}

func (p *pass) judge() {
	for _, candidate := range p.world.Pods {
		if !pod.IsActive(candidate) || !p.selects(candidate) {
			continue
		}
		m := p.asked.Judge(candidate)
		if wait := m.LookAgain; wait > 0 && (p.plan.LookAgain == 0 || wait < p.plan.LookAgain) {
			p.plan.LookAgain = wait
		}
		p.plan.Members = append(p.plan.Members, m)
	}
}

// selects tells whether the pod is the set's by its labels. A selector that cannot be read gives no pod up.
func (p *pass) selects(candidate *corev1.Pod) bool {
	return p.selector == nil || p.selector.Matches(labels.Set(candidate.Labels))
}

// collect puts the steps of the pods into the order of the world, those of updates behind them in the order of updates,
// then creations, and then what is forgotten.
func (p *pass) collect() {
	ordered := slices.Clone(p.world.Pods)
	slices.SortStableFunc(ordered, func(a, b *corev1.Pod) int { return cmp.Compare(p.turns[a.UID], p.turns[b.UID]) })
	for _, candidate := range ordered {
		if s, decided := p.pods[candidate.UID]; decided {
			p.plan.Steps = append(p.plan.Steps, s)
		}
	}
	p.plan.Steps = slices.Concat(p.plan.Steps, p.creations, p.forgotten)
}

// take follows a verdict on a pod: its step, and what people have to be told.
func (p *pass) take(of *corev1.Pod, v member.Verdict) {
	p.plan.Refused = append(p.plan.Refused, v.Refused...)
	if v.Held != "" {
		p.hold(v.Held)
	}
	if v.Step != nil {
		p.pods[of.UID] = v.Step
	}
}

// hold notes what keeps the pass from doing more. The first reason found is the one that people see.
func (p *pass) hold(why string) {
	if p.plan.Held == "" {
		p.plan.Held = why
	}
}
