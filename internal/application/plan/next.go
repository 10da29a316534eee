// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/fieldowner"
	"slipway.dev/slipway/internal/step"
)

// planner is one decision.
type planner struct {
	World
	app  delivery.Application
	plan Plan
}

// Next decides what is done next for an application.
func Next(w World) Plan {
	p := &planner{World: w, app: w.application()}
	switch {
	case w.App.IsRolloutTemplate():
		p.left() // an AppRollout deploys it, when somebody asks for one
		p.plan.Done = len(p.plan.Steps) == 0
		return p.plan
	case w.App.Spec.RolloutPlan == nil:
		p.atOnce()
	default:
		p.inBatches()
	}
	if p.plan.Done = p.plan.Blocked == "" && p.plan.Rolling == "" && len(p.plan.Steps) == 0; p.plan.Done {
		p.forget()
		p.plan.Done = len(p.plan.Steps) == 0
	}
	return p.plan
}

// left opens what an AppRollout of somebody has left held back that had nothing to do, or that has ended before it took a pod. No pod
// moves by that, and nobody else would do it.
func (p *planner) left() {
	for i := range p.Components {
		if c := &p.Components[i]; c.Opened != nil && c.Even {
			p.open(Current(c), c.Opened, "all its pods are on its template, and nobody rolls it out")
		}
	}
}

// atOnce applies all that is not there yet. Each workload is rolled out by its own controller.
func (p *planner) atOnce() {
	if p.stops() {
		return
	}
	for i := range p.Components {
		c := &p.Components[i]
		p.extras(c)
		live := Current(c)
		switch {
		case live == nil && c.Named != nil:
			p.foreign(c.Named)
		case live == nil, !delivery.Is(live, p.Latest), p.unscaled(c, live):
			p.apply(c, p.workload(c, live), live)
		case c.Opened != nil:
			p.open(live, c.Opened, "there is no rolloutPlan that holds it back")
		}
	}
}

// unscaled tells whether a workload has not the pods that it was rendered with, and nobody else has the say about it: a rollout that
// began it at no pods, or had not come to all of them, was ended. An autoscaler does nothing for one without pods.
func (p *planner) unscaled(c *Component, live *unstructured.Unstructured) bool {
	return p.resized(c, live) || c.Sized && c.Size > 0 && replicas(live) == 0 && !p.sizedByOthers(live)
}

// stops ends the rollout of an application that has no plan any more. What it holds has to be let go first.
func (p *planner) stops() bool {
	if p.Rollout == nil || p.Someone != "" {
		return false
	}
	p.plan.Rolling = "waits until the rollout has let the workloads go: there is no rolloutPlan any more"
	if p.Rollout.DeletionTimestamp == nil {
		p.plan.Steps = append(p.plan.Steps, step.Delete(p.Rollout, "there is no rolloutPlan any more"))
	}
	return true
}

// workload is what to apply of a component's workload without a rollout: one that serves keeps its name and its selector, and its
// size where others have the say.
func (p *planner) workload(c *Component, live *unstructured.Unstructured) *unstructured.Unstructured {
	if live == nil {
		return c.Workload
	}
	o := c.Released.DeepCopy()
	if p.sizedByOthers(live) {
		unstructured.RemoveNestedField(o.Object, "spec", "replicas")
	}
	return o
}

// sizedByOthers tells whether somebody else has said how many pods a workload has: an autoscaler, or a person.
func (p *planner) sizedByOthers(live *unstructured.Unstructured) bool {
	_, others := fieldowner.Whose(live, p.Managers, "spec", "replicas")
	return others
}

// serving is the workload of a component that has most pods: for most kinds the only one.
func serving(c *Component) *unstructured.Unstructured {
	var most *unstructured.Unstructured
	for _, o := range c.Live {
		if most == nil || replicas(o) > replicas(most) {
			most = o
		}
	}
	return most
}

func replicas(o *unstructured.Unstructured) int64 {
	n, has, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if err != nil || !has {
		return 1
	}
	return n
}

// extras applies what a component has besides its workload and is not there in the latest revision.
func (p *planner) extras(c *Component) {
	for i, extra := range c.Extras {
		switch live := c.LiveExtras[i]; {
		case live != nil && !p.app.Owns(live):
			p.foreign(live)
		case live == nil || !delivery.Is(live, p.Latest):
			p.apply(c, p.pointed(c, extra), live)
		}
	}
}

// pointed has what scales the component's workload refer to the one that is there.
func (p *planner) pointed(c *Component, extra *unstructured.Unstructured) *unstructured.Unstructured {
	if live := Current(c); live != nil && delivery.Scales(extra, c.Workload) {
		extra = extra.DeepCopy()
		delivery.PointAt(extra, live.GetName())
	}
	return extra
}

func (p *planner) apply(c *Component, o, live *unstructured.Unstructured) {
	o = o.DeepCopy()
	p.app.Mark(o, p.Latest, &c.Component)
	why := step.Because("it is in " + p.Latest)
	if live == nil {
		why = step.Because(fmt.Sprintf("it is in %s, and is not there", p.Latest))
	}
	p.plan.Steps = append(p.plan.Steps, step.Apply{Because: why, Object: o})
}

func (p *planner) open(live, opened *unstructured.Unstructured, why step.Because) {
	p.plan.Steps = append(p.plan.Steps, step.ChangeSet{Because: why, Before: live, After: opened})
}

func (p *planner) foreign(live *unstructured.Unstructured) {
	p.block("%s %s is there, and is not this application's: delete it, or rename what the component makes", live.GetKind(), live.GetName())
}

func (p *planner) block(format string, values ...any) {
	if p.plan.Blocked == "" {
		p.plan.Blocked = fmt.Sprintf(format, values...)
	}
}
