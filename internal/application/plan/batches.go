// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/fieldowner"
	"slipway.dev/slipway/internal/step"
)

// inBatches has one component after the other rolled out: first the one whose rollout has not succeeded, for pods of it may be
// between two versions, and then the others in the order of the application.
func (p *planner) inBatches() {
	if p.Someone != "" {
		p.block("AppRollout %s is there, and is not this application's but %s's: delete it, or rename the application", p.App.Name, p.Someone)
		return
	}
	if unfinished := p.unfinished(); unfinished != nil {
		p.rolls(unfinished)
		return
	}
	if p.orphaned() {
		return
	}
	for i := range p.Components {
		c := &p.Components[i]
		switch live := Current(c); {
		case c.Named != nil && len(c.Live) == 0:
			p.foreign(c.Named)
			return
		case !c.Driven:
			p.extras(c)
			if live == nil || !delivery.Is(live, p.Latest) {
				p.apply(c, p.workload(c, live), live)
			}
		case live == nil, delivery.RevisionOf(live) != c.Revision:
			p.rolls(c)
			return
		case !delivery.Is(live, p.Latest):
			p.extras(c)
			p.apply(c, c.Settled, live)
		case halfway(c, live), p.unscaled(c, live):
			p.rolls(c)
			return
		default:
			p.extras(c)
			if c.Opened != nil && c.Healthy {
				p.open(live, c.Opened, "all its pods are on the newest template, and nothing rolls it out")
			}
		}
	}
}

// halfway tells whether somebody has taken away the rollout that a workload on its revision was in the middle of: pods of an older one
// are held back, or another workload has them.
func halfway(c *Component, live *unstructured.Unstructured) bool {
	if live == nil || delivery.RevisionOf(live) != c.Revision {
		return false
	}
	if c.Versions {
		return c.Mixed && c.Opened != nil
	}
	older := replaced(c)
	return older != nil && older.GetDeletionTimestamp() == nil && replicas(older) > 0
}

// unfinished is the component that a rollout is about that has not succeeded.
func (p *planner) unfinished() *Component {
	if p.Rollout == nil || p.Rollout.Status.RollingState == rolloutv1alpha1.RolloutSucceedState && isSeen(p.Rollout) {
		return nil
	}
	for i := range p.Components {
		if slices.Contains(p.Rollout.Spec.ComponentList, p.Components[i].Name) {
			return &p.Components[i]
		}
	}
	return nil
}

// orphaned ends a rollout under way of a component that the application no longer has.
func (p *planner) orphaned() bool {
	r := p.Rollout
	if r == nil || r.Status.RollingState.IsFinal() && isSeen(r) {
		return false
	}
	p.plan.Rolling = "waits until the rollout has let go of a component that is gone"
	if r.DeletionTimestamp == nil {
		p.plan.Steps = append(p.plan.Steps, step.Delete(r, "its component is gone"))
	}
	return true
}

// isOver tells whether the rollout has succeeded in what it is asked for.
func (p *planner) isOver() bool {
	r := p.Rollout
	return r.Status.RollingState == rolloutv1alpha1.RolloutSucceedState && isSeen(r) && r.DeletionTimestamp == nil
}

// isSeen tells whether the status speaks of the spec as it stands.
func isSeen(r *oamv1beta1.AppRollout) bool { return r.Status.ObservedGeneration == r.Generation }

// Current is the workload of a component on its revision or, without one, the one that serves.
func Current(c *Component) *unstructured.Unstructured {
	for _, o := range c.Live {
		if delivery.RevisionOf(o) == c.Revision {
			return o
		}
	}
	return serving(c)
}

// resized tells whether a workload shall have another number of pods, and nobody else has the say about it. What the plan says counts
// more than what was rendered: that is where the rollout goes.
func (p *planner) resized(c *Component, live *unstructured.Unstructured) bool {
	size := int64(c.Size)
	if plan := p.App.Spec.RolloutPlan; plan != nil && plan.TargetSize != nil {
		size = int64(*plan.TargetSize)
	}
	return c.Sized && size != replicas(live) && !p.sizedByOthers(live) && !scaled(c)
}

// scaled tells whether the component itself has an autoscaler.
func scaled(c *Component) bool {
	return slices.ContainsFunc(c.Extras, func(o *unstructured.Unstructured) bool { return delivery.Scales(o, c.Workload) })
}

// rolls has the AppRollout take a component to the latest revision.
func (p *planner) rolls(c *Component) {
	p.plan.Rolling = "component " + c.Name
	wanted := p.wanted(c)
	if p.Rollout != nil && p.asks(wanted) {
		if p.isOver() { // it works once, and what it has rolled out is not there any more
			p.plan.Steps = append(p.plan.Steps, step.Delete(p.Rollout, "it is over, and has to be done again"))
		}
		return
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&wanted)
	if err != nil { // the schema has let it through
		p.block("spec.rolloutPlan cannot be read: %v", err)
		return
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": raw}}
	o.SetGroupVersionKind(oamv1beta1.GroupVersion.WithKind(oamv1beta1.AppRolloutKind))
	o.SetName(p.App.Name)
	p.app.Own(o)
	p.plan.Steps = append(p.plan.Steps, step.Apply{Because: step.Because(fmt.Sprintf("component %s goes to %s", c.Name, p.Latest)), Object: o})
}

// wanted is what the AppRollout is asked for. What it was asked for stays while it is under way to the same revision: numbers
// that live pods tell change with each batch.
func (p *planner) wanted(c *Component) oamv1beta1.AppRolloutSpec {
	spec := oamv1beta1.AppRolloutSpec{TargetAppRevisionName: p.Latest, ComponentList: []string{c.Name}, RolloutPlan: *p.App.Spec.RolloutPlan.DeepCopy()}
	same := p.Rollout != nil && p.Rollout.Spec.TargetAppRevisionName == p.Latest && slices.Equal(p.Rollout.Spec.ComponentList, spec.ComponentList)
	if same && p.unfinished() == c {
		spec.SourceAppRevisionName = p.Rollout.Spec.SourceAppRevisionName
		if spec.RolloutPlan.TargetSize == nil {
			spec.RolloutPlan.TargetSize = p.Rollout.Spec.RolloutPlan.TargetSize
			if p.Rollout.Status.Running == nil && !c.Versions { // an autoscaler was faster
				spec.RolloutPlan.TargetSize = enough(spec.RolloutPlan.TargetSize, c)
			}
		}
		return spec
	}
	live := Current(c)
	if p.unfinished() != c && halfway(c, live) {
		p.takenUp(c, live, &spec)
		return spec
	}
	if live == nil || c.Versions && replicas(live) == 0 || delivery.RevisionOf(live) == c.Revision && p.unfinished() != c {
		if spec.RolloutPlan.TargetSize == nil && c.Sized { // a new workload, or only its size is another
			spec.RolloutPlan.TargetSize = ptr.To(int32(c.Size))
		}
		return spec
	}
	spec.SourceAppRevisionName = p.source(c)
	if spec.RolloutPlan.TargetSize == nil && p.unfinished() == c && !c.Versions {
		spec.RolloutPlan.TargetSize = p.interrupted(c)
	}
	return spec
}

// takenUp asks for what a rollout was asked for that somebody has taken away, as far as the status has kept it. The pods tell the rest.
func (p *planner) takenUp(c *Component, live *unstructured.Unstructured, spec *oamv1beta1.AppRolloutSpec) {
	was := p.App.Status.Rollout
	known := was != nil && was.Component == c.Name && was.LastTargetAppRevision == p.Latest
	size := int32(replicas(live))
	if !c.Versions {
		older := replaced(c)
		spec.SourceAppRevisionName = deployedFrom(older)
		size += int32(replicas(older))
		if known && was.RolloutTargetSize > 0 {
			size = max(was.RolloutTargetSize, int32(replicas(older)))
		}
	} else if known {
		spec.SourceAppRevisionName = was.LastSourceAppRevision
	}
	if spec.RolloutPlan.TargetSize == nil && (!c.Versions || spec.SourceAppRevisionName == "") { // a rollout in place without a source is asked for by it
		spec.RolloutPlan.TargetSize = &size
	}
}

// source is the revision that is deployed now.
func (p *planner) source(c *Component) string {
	if c.Versions {
		if p.unfinished() == c && p.Rollout.Spec.SourceAppRevisionName != "" {
			return p.Rollout.Spec.SourceAppRevisionName // what was delivered since has not replaced it
		}
		return deployedFrom(c.Live[0])
	}
	if most := replaced(c); most != nil {
		return deployedFrom(most)
	}
	return ""
}

// replaced is the workload of a component on another revision that has most pods; nil for none.
func replaced(c *Component) *unstructured.Unstructured {
	var most *unstructured.Unstructured
	for _, o := range c.Live {
		if delivery.RevisionOf(o) != c.Revision && (most == nil || replicas(o) > replicas(most)) {
			most = o
		}
	}
	return most
}

func deployedFrom(o *unstructured.Unstructured) string {
	return o.GetLabels()[oamv1beta1.LabelAppRevision]
}

// interrupted is the number of pods that an unfinished rollout was on its way to: several workloads have them between them. An
// autoscaler may have given more than that to the one that is replaced.
func (p *planner) interrupted(c *Component) *int32 {
	size := p.Rollout.Spec.RolloutPlan.TargetSize
	if n := p.Rollout.Status.RolloutTargetSize; n > 0 {
		size = ptr.To(n)
	}
	return enough(size, c)
}

// enough is a size, or that of the workload that is replaced when that has more pods.
func enough(size *int32, c *Component) *int32 {
	if most := replaced(c); size != nil && most != nil && replicas(most) > int64(*size) {
		return ptr.To(int32(replicas(most)))
	}
	return size
}

// asks tells whether the AppRollout is asked for just that already, besides what somebody has written there that the plan leaves out: that
// is not ours to take away.
func (p *planner) asks(wanted oamv1beta1.AppRolloutSpec) bool {
	wanted.RevertOnDelete = p.Rollout.Spec.RevertOnDelete // not ours to say
	if equality.Semantic.DeepEqual(p.Rollout.Spec, wanted) {
		return true
	}
	is := p.Rollout.Spec.DeepCopy()
	asked, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&wanted.RolloutPlan)
	stands, err2 := runtime.DefaultUnstructuredConverter.ToUnstructured(&is.RolloutPlan)
	if err != nil || err2 != nil { // the schema has let them through
		return false
	}
	for member := range stands {
		if _, has := asked[member]; !has && p.isForeign(member) {
			delete(stands, member)
		}
	}
	is.RolloutPlan = wanted.RolloutPlan
	return equality.Semantic.DeepEqual(*is, wanted) && equality.Semantic.DeepEqual(stands, asked)
}

// isForeign tells whether others have written a member of the AppRollout's plan, and we have not.
func (p *planner) isForeign(member string) bool {
	ours, others := fieldowner.Whose(p.Rollout, p.Managers, "spec", "rolloutPlan", member)
	return others && !ours
}
