// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// Next decides one pass. First every pod's own affairs go on:
//
//	record   make sure that a revision holds the template
//	belong   adopt pods that nobody controls, give pods up that are none of ours
//	refresh  bring every pod's own affairs to an end: gate, grace period, labels
//
// Then the policies below are tried in their order. Where pods are ordered, each of them may end the pass: what comes
// after it waits. Where they are parallel, none does.
func Next(world World, now time.Time) Plan {
	p := &pass{
		world: world, now: now, asked: asked(&world, now),
		pods: map[string]step.Step{}, claims: map[string][]step.Step{}, told: map[string]bool{},
	}
	if p.plan.Invalid = p.read(); p.plan.Invalid != nil {
		p.plan.UpdateRevision, p.plan.CurrentRevision = world.Set.Status.UpdateRevision, world.Set.Status.CurrentRevision
		p.asked.Update.Name = p.plan.UpdateRevision
		p.judge()
		return p.plan
	}
	recorded := p.record()
	p.judge()
	p.place()
	p.order()
	p.countClaims()
	leaving := world.Set.DeletionTimestamp != nil
	if leaving {
		p.plan.Steps = nil
	}
	if !recorded && !leaving {
		return p.plan
	}
	if !leaving {
		p.belong()
	}
	p.refresh()
	if leaving {
		p.collect()
		return p.plan
	}
	for _, policy := range []func() (end bool){
		p.goOn,    // let pods go on that their hooks hold no longer
		p.stale,   // ordered only: replace pods that are broken on an older revision, whatever else is broken
		p.walk,    // from the lowest position up: replace what has finished, create what is missing
		p.scaleIn, // delete condemned pods
		p.chosen,  // delete pods that somebody asked to be deleted
		p.update,  // bring pods and claims to what the spec says, within the allowance
	} {
		if policy() && p.ordered {
			break
		}
	}
	p.collect()
	p.tidy()
	return p.plan
}

// pass is the working memory of one call of Next.
type pass struct {
	world    World
	now      time.Time
	plan     Plan
	selector labels.Selector
	// ordered: pods wait for one another (podManagementPolicy OrderedReady).
	ordered bool
	// asked is what each pod is asked for, the update revision among it; current is the other side of the release.
	asked   *member.Set
	current revision.Revision
	// live are the live ordinals, ascending, and slots the positions in the same order.
	live  []int
	slots []slot
	// down counts the unavailable positions, those included that this pass makes so.
	down int
	// older counts the live pods that are not on the update revision, those included that this pass creates.
	older int
	// members are the members, the highest ordinal first; eligible those that may be updated, first in front.
	members, eligible []*Member
	// turns are the names of the pods in the order in which they got their steps. pods holds the one step that each pod
	// gets in this pass, and claims those of its claims, by its name. A later policy overrides an earlier one: to put a
	// pod into service that is about to be deleted would be a write for nothing.
	turns  []string
	pods   map[string]step.Step
	claims map[string][]step.Step
	// creations come after the steps of living pods.
	creations []step.Step
	// told are the sentences that people have been told.
	told map[string]bool
}

// do gives a pod its step.
func (p *pass) do(of *corev1.Pod, s step.Step) {
	p.turn(of.Name)
	p.pods[of.Name] = s
}

// doToClaim adds a step for a claim of a pod, which is taken before the step of the pod.
func (p *pass) doToClaim(podName string, s step.Step) {
	p.turn(podName)
	p.claims[podName] = append(p.claims[podName], s)
}

func (p *pass) turn(podName string) {
	if p.pods[podName] == nil && p.claims[podName] == nil {
		p.turns = append(p.turns, podName)
	}
}

// collect puts the steps of the living pods into the order in which they were decided, and creations behind them.
func (p *pass) collect() {
	for _, name := range p.turns {
		p.plan.Steps = append(p.plan.Steps, p.claims[name]...)
		if s := p.pods[name]; s != nil {
			p.plan.Steps = append(p.plan.Steps, s)
		}
	}
	p.plan.Steps = append(p.plan.Steps, p.creations...)
}

// take follows a verdict on a pod: its step, and what people have to be told. It returns false when there is no step.
func (p *pass) take(m *Member, v member.Verdict) bool {
	for _, why := range v.Refused {
		p.tell(&p.plan.Refused, why)
	}
	for _, why := range v.Warned {
		p.tell(&p.plan.Warned, why)
	}
	if v.Held != "" {
		p.hold("pod " + m.Pod.Name + " waits: " + v.Held)
	}
	if v.Step == nil {
		return false
	}
	p.do(m.Pod, v.Step)
	return true
}

// tell adds a sentence to a list, once.
func (p *pass) tell(list *[]string, sentence string) {
	if !p.told[sentence] {
		p.told[sentence] = true
		*list = append(*list, sentence)
	}
}

// hold notes what keeps the pass from doing more. The first reason found is the one that people see.
func (p *pass) hold(why string) {
	if p.plan.Held == "" {
		p.plan.Held = why
	}
}

func (p *pass) lookAgainIn(wait time.Duration) {
	if wait > 0 && (p.plan.LookAgain == 0 || wait < p.plan.LookAgain) {
		p.plan.LookAgain = wait
	}
}

// refresh brings each pod's own affairs one step further, whatever the update strategy says.
func (p *pass) refresh() {
	for _, m := range p.members {
		if pod.IsActive(m.Pod) {
			p.take(m, p.asked.Tend(m.Member))
		}
	}
}
