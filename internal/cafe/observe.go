// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/cafe/podset"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// observed is a world, with the objects that it was read from.
type observed struct {
	world plan.World
	kind  podset.Kind
	sets  map[string]client.Object
}

// observe builds the world that one decision depends on. It reads only.
func (r *Reconciler) observe(ctx context.Context, d *cafev1alpha1.CafeDeployment, m *memory, now time.Time) (observed, error) {
	o := observed{sets: map[string]client.Object{}, world: plan.World{Deployment: d, Live: m.Template(d, &d.Spec.Template), Taken: m.Taken}}
	own, err := r.reader.Revisions(ctx, d, d.Status.CurrentRevision)
	if err != nil {
		return o, err
	}
	o.world.Revisions = m.Decode(own)[0]
	if o.kind, err = podset.Of(d.Spec.PodSetType); err != nil {
		return o, err
	}
	list := o.kind.List()
	if err := r.reader.Into(ctx, d, list); err != nil {
		return o, err
	}
	items, err := apimeta.ExtractList(list)
	if err != nil {
		return o, fmt.Errorf("reading the list of pod sets: %w", err)
	}
	units := map[string]*plan.Unit{}
	asked := m.asked
	m.asked = map[types.UID]string{}
	for _, item := range items {
		set, is := item.(client.Object)
		if !is || set.GetDeletionTimestamp() != nil {
			continue
		}
		name := set.GetLabels()[cafev1alpha1.LabelUnit]
		if units[name] == nil {
			units[name] = &plan.Unit{Name: name}
		}
		if err := r.look(ctx, &o, units[name], set, m, asked[set.GetUID()], now); err != nil {
			return o, err
		}
	}
	for _, u := range units {
		slices.SortFunc(u.Sets, func(a, b plan.Set) int { return cmp.Compare(a.Name, b.Name) })
		o.world.Units = append(o.world.Units, *u)
	}
	slices.SortFunc(o.world.Units, func(a, b plan.Unit) int { return cmp.Compare(a.Name, b.Name) })
	return o, nil
}

// look adds one pod set to its unit. Its pods are only looked at where its status does not say enough. Asked is for which revision the API
// server was asked for them.
func (r *Reconciler) look(ctx context.Context, o *observed, u *plan.Unit, set client.Object, m *memory, asked string, now time.Time) error {
	d := o.world.Deployment
	var pods []*corev1.Pod
	if d.Spec.Topology.AutoReschedule.Enable || o.kind.CountsPods() {
		var err error
		if pods, err = r.reader.Pods(ctx, set); err != nil {
			return err
		}
	}
	shown := o.kind.Show(set, pods, now)
	shown.Name, shown.Revision = set.GetName(), set.GetAnnotations()[cafev1alpha1.AnnotationRevision]
	shown.Differs = o.kind.Differs(set, d)
	if asked == shown.Revision {
		m.asked[set.GetUID()] = asked
	} else if shown.Early(d.Spec.PodSetType) {
		behind, err := r.catchUp(ctx, d, u.Name, set, pods)
		if err != nil {
			return err
		}
		shown.Doubtful, m.asked[set.GetUID()] = behind, shown.Revision
	}
	u.Sets = append(u.Sets, shown)
	next, below := podset.Unschedulable(d.Spec.PodSetType, set.GetName(), pods)
	u.Unschedulable, u.Below = append(u.Unschedulable, next...), append(u.Below, below...)
	for _, p := range pods {
		if pod.IsActive(p) {
			u.Pods++
		}
	}
	o.sets[shown.Name] = set
	return nil
}

// catchUp asks the API server for the pods of a set, and tells whether the cache shows other ones. Then the next look waits until it shows
// these. That is done once for each template of a set: what the set did for the one before, it did before it saw this one.
func (r *Reconciler) catchUp(ctx context.Context, d *cafev1alpha1.CafeDeployment, unit string, set client.Object, cached []*corev1.Pod) (behind bool, err error) {
	live, err := r.reader.LivePods(ctx, set, podset.Selector(d, unit, ""))
	if err != nil {
		return false, err
	}
	shown := map[string]*corev1.Pod{}
	for _, p := range cached {
		shown[p.Name] = p
	}
	for _, p := range live {
		c := shown[p.Name]
		if delete(shown, p.Name); c == nil || c.UID != p.UID || pod.IsActive(c) != pod.IsActive(p) || pod.RevisionHash(c) != pod.RevisionHash(p) {
			r.Writes.Wrote(d.UID, p)
			behind = true
		}
	}
	for _, gone := range shown {
		r.Writes.Deleted(d.UID, gone)
		behind = true
	}
	return behind, nil
}

// steps are the writes that bring about what pod sets are asked for.
func (o observed) steps(next plan.Plan) []step.Step {
	var steps []step.Step
	given := map[string]bool{}
	for _, a := range next.Asks {
		switch {
		case a.Deletes:
			steps = append(steps, step.DeleteSet{Because: step.Because(a.Why), Target: step.On(o.sets[a.Set]), Set: o.kind.New()})
		case a.Set == "":
			set := o.open(a, given)
			given[set.GetName()] = true
			steps = append(steps, step.CreateSet{Because: step.Because(a.Why), Set: set})
		default:
			before := o.sets[a.Set]
			after := before.DeepCopyObject().(client.Object) // a copy is of the type of the original
			o.fill(after, a)
			steps = append(steps, step.ChangeSet{Because: step.Because(a.Why), Before: before, After: after})
		}
	}
	return steps
}

// open is the pod set that a unit does not have yet.
func (o observed) open(a plan.Ask, given map[string]bool) client.Object {
	d := o.world.Deployment
	set := o.kind.New()
	set.SetNamespace(d.Namespace)
	version := podset.Version(d.Spec.PodSetType, a.Revision)
	set.SetName(podset.Name(d, a.Unit, version, func(name string) bool {
		return given[name] || o.sets[name] != nil || o.world.Taken[name]
	}))
	set.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(d, cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind))})
	labels := map[string]string{}
	for key, value := range d.Spec.Template.Labels {
		labels[key] = value
	}
	if len(d.Name) <= 63 { // a label's limit
		labels[cafev1alpha1.LabelCafeDeployment] = d.Name
	}
	if version != "" {
		labels[cafev1alpha1.LabelRevision] = version
	}
	labels[cafev1alpha1.LabelUnit] = a.Unit
	set.SetLabels(labels)
	o.fill(set, a)
	return set
}

// fill writes what a pod set is asked for into it.
func (o observed) fill(set client.Object, a plan.Ask) {
	d := o.world.Deployment
	asked := podset.Asked{Deployment: d, Unit: a.Unit, Replicas: int32(a.Replicas), Partition: int32(a.Partition)}
	annotations := map[string]string{}
	for key, value := range set.GetAnnotations() {
		annotations[key] = value
	}
	version := podset.Version(d.Spec.PodSetType, a.Revision)
	if a.GivesTemplate {
		asked.Template = podset.Template(d, a.Unit, version)
		annotations[cafev1alpha1.AnnotationRevision] = a.Revision
	}
	if version != "" {
		annotations[cafev1alpha1.AnnotationUnitReplicas] = fmt.Sprint(a.UnitReplicas)
	}
	set.SetAnnotations(annotations)
	o.kind.Ask(set, asked)
}
