// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// What follows reads pod sets in other words than the controller's, so that a mistake in one of the two is seen.

const (
	unitLabel = "cafe.sofastack.io/unit"
	confirmed = "cafe.sofastack.io/upgrade-confirmed"
)

var setKinds = []api.Kind{api.InPlaceSets, api.CloneSets, api.StatefulSets, api.ReplicaSets, api.BuiltInStatefulSets}

// podSet is what a pod set of any kind is asked for and says.
type podSet struct {
	object         client.Object
	kind           api.Kind
	unit           string
	replicas, kept int
	minReady       int32
	release        world.Release
	// looked: its controller has acted on this spec. updated is how many pods it has on its template.
	looked                   bool
	updated, available, both int    // available, and available and on its template
	podUnit                  string // of its pods' labels
}

func setOf(o client.Object) podSet {
	s := podSet{object: o, kind: api.KindOf(o), unit: o.GetLabels()[unitLabel]}
	var template *corev1.PodTemplateSpec
	var observed int64
	var updated, available, both int32
	switch o := o.(type) {
	case *cafev1alpha1.InPlaceSet:
		template, s.replicas, s.minReady = &o.Spec.Template, int(ptr.Deref(o.Spec.Replicas, 1)), o.Spec.MinReadySeconds
		s.kept = world.Share(o.Spec.Strategy.Partition, s.replicas, true, 0)
		observed, updated = o.Status.ObservedGeneration, o.Status.UpdatedReplicas
		available, both = o.Status.AvailableReplicas, o.Status.UpdatedAvailableReplicas
	case *kruisev1alpha1.CloneSet:
		template, s.replicas, s.minReady = &o.Spec.Template, int(ptr.Deref(o.Spec.Replicas, 1)), o.Spec.MinReadySeconds
		s.kept = world.Share(o.Spec.UpdateStrategy.Partition, s.replicas, true, 0)
		observed, updated = o.Status.ObservedGeneration, o.Status.UpdatedReplicas
		available, both = o.Status.AvailableReplicas, o.Status.UpdatedAvailableReplicas
	case *kruisev1beta1.StatefulSet:
		template, s.replicas = &o.Spec.Template, int(ptr.Deref(o.Spec.Replicas, 1))
		if roll := o.Spec.UpdateStrategy.RollingUpdate; roll != nil {
			s.kept, s.minReady = int(ptr.Deref(roll.Partition, 0)), ptr.Deref(roll.MinReadySeconds, 0)
		}
		observed, updated = o.Status.ObservedGeneration, o.Status.UpdatedReplicas
		available, both = o.Status.AvailableReplicas, o.Status.UpdatedAvailableReplicas
	case *appsv1.ReplicaSet:
		template, s.replicas, s.minReady = &o.Spec.Template, int(ptr.Deref(o.Spec.Replicas, 1)), o.Spec.MinReadySeconds
		observed, updated = o.Status.ObservedGeneration, o.Status.Replicas
		available, both = o.Status.AvailableReplicas, o.Status.AvailableReplicas
	case *appsv1.StatefulSet:
		template, s.replicas, s.minReady = &o.Spec.Template, int(ptr.Deref(o.Spec.Replicas, 1)), o.Spec.MinReadySeconds
		if roll := o.Spec.UpdateStrategy.RollingUpdate; roll != nil {
			s.kept = int(ptr.Deref(roll.Partition, 0))
		}
		observed, updated, available = o.Status.ObservedGeneration, o.Status.UpdatedReplicas, o.Status.AvailableReplicas
	default:
		panic(fmt.Sprintf("%T is no pod set", o))
	}
	s.release, s.podUnit = world.ReleaseOf(template.Labels, &template.Spec), template.Labels[unitLabel]
	s.looked, s.updated, s.available, s.both = observed >= o.GetGeneration(), int(updated), int(available), int(both)
	return s
}

// released is how many of its pods a set may have on its template.
func (s podSet) released() int { return max(0, s.replicas-s.kept) }

func (s podSet) ordinals() bool {
	return s.kind == api.StatefulSets || s.kind == api.BuiltInStatefulSets
}

// reader is a state of the world: the truth, or what a manager sees.
type reader func(api.Kind) []client.Object

// setsOf are the pod sets of a deployment that stay, by unit and name.
func (read reader) setsOf(owner types.UID) []podSet {
	var found []podSet
	for _, stored := range setKinds {
		for _, o := range read(stored) {
			if c := metav1.GetControllerOfNoCopy(o); c != nil && c.UID == owner && o.GetDeletionTimestamp() == nil {
				found = append(found, setOf(o))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b podSet) int {
		return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(a.object.GetName(), b.object.GetName()))
	})
	return found
}

// podsOf are the active pods of a set.
func (read reader) podsOf(set types.UID) []*corev1.Pod {
	var found []*corev1.Pod
	for _, o := range read(api.Pods) {
		pod := o.(*corev1.Pod)
		if c := metav1.GetControllerOfNoCopy(pod); c != nil && c.UID == set && world.Active(pod) {
			found = append(found, pod)
		}
	}
	return found
}

// summary tells the pods of all deployments: for each unit, how many are available on which release, or not (~), or have no node (?).
func summary(w *world.World) string {
	read := reader(w.Server.List)
	var all []string
	for _, o := range w.Server.List(api.CafeDeployments) {
		byUnit, counted := []string{}, map[string][]string{}
		for _, set := range read.setsOf(o.GetUID()) {
			if !slices.Contains(byUnit, set.unit) {
				byUnit = append(byUnit, set.unit)
			}
			for _, pod := range read.podsOf(set.object.GetUID()) {
				sign := world.Running(pod).String()
				switch {
				case pod.Spec.NodeName == "":
					sign += "?"
				case !world.Available(pod, set.minReady, w.Clock.Now()):
					sign += "~"
				}
				counted[set.unit] = append(counted[set.unit], sign)
			}
		}
		text := o.GetName()
		for _, unit := range byUnit {
			text += " | " + unit + tally(counted[unit])
		}
		all = append(all, text)
	}
	return strings.Join(all, " || ")
}

// tally counts equal signs.
func tally(signs []string) string {
	if len(signs) == 0 {
		return " none"
	}
	slices.Sort(signs)
	text := ""
	for i := 0; i < len(signs); {
		n := i
		for n < len(signs) && signs[n] == signs[i] {
			n++
		}
		text += fmt.Sprintf(" %d×%s", n-i, signs[i])
		i = n
	}
	return text
}

// describe tells a spec in one line.
func describe(d *cafev1alpha1.CafeDeployment) string {
	s := &d.Spec
	text := fmt.Sprintf("%s: %d of %q over %v", d.Name, replicasOf(d), wanted(d), s.Topology.Values)
	if len(s.Topology.UnitReplicas) > 0 {
		text += " with"
		for _, unit := range s.Topology.Values {
			if n, named := s.Topology.UnitReplicas[unit]; named {
				text += " " + unit + "=" + n.String()
			}
		}
	}
	if s.Strategy.UpgradeType == cafev1alpha1.BetaUpgradeType {
		text += " Beta"
	}
	if s.Strategy.BatchSize != nil {
		text += fmt.Sprintf(" by %d", *s.Strategy.BatchSize)
	}
	for _, flag := range []struct {
		on   bool
		name string
	}{{s.Strategy.NeedWaitingForConfirm, "confirmed"}, {s.Strategy.Pause, "paused"}, {s.Topology.AutoReschedule.Enable, "rescheduling"}} {
		if flag.on {
			text += " " + flag.name
		}
	}
	if s.Strategy.MinReadySeconds > 0 {
		text += fmt.Sprintf(" minReady=%d", s.Strategy.MinReadySeconds)
	}
	return text + " as " + string(s.PodSetType)
}

func replicasOf(d *cafev1alpha1.CafeDeployment) int { return int(ptr.Deref(d.Spec.Replicas, 1)) }

func wanted(d *cafev1alpha1.CafeDeployment) world.Release {
	return world.ReleaseOf(d.Spec.Template.Labels, &d.Spec.Template.Spec)
}

// unitsOf are the units of a topology; with none, one without a name.
func unitsOf(d *cafev1alpha1.CafeDeployment) []string {
	if d.Spec.Topology.UnitType == cafev1alpha1.NoneUnitType {
		return []string{""}
	}
	return d.Spec.Topology.Values
}

// shares are what each unit is to have of all replicas; false when that does not add up.
func shares(d *cafev1alpha1.CafeDeployment) (map[string]int, bool) {
	all, units := replicasOf(d), unitsOf(d)
	given, left, open := map[string]int{}, all, []string(nil)
	type cut struct {
		unit string
		rest int // of a hundredth of a pod
	}
	var cuts []cut
	for _, unit := range units {
		fixed, named := d.Spec.Topology.UnitReplicas[unit]
		if !named {
			open = append(open, unit)
			continue
		}
		n := world.Share(&fixed, all, false, 0)
		given[unit] = n
		left -= n
		if text := fixed.String(); strings.HasSuffix(text, "%") {
			var percent int
			_, _ = fmt.Sscanf(text, "%d%%", &percent) // the simulation uses whole percentages only
			cuts = append(cuts, cut{unit, percent*all - 100*n})
		}
	}
	if len(open) == 0 {
		slices.SortStableFunc(cuts, func(a, b cut) int { return b.rest - a.rest })
		for _, c := range cuts {
			open = append(open, c.unit)
		}
	}
	if left < 0 || left > 0 && len(open) == 0 {
		return nil, false
	}
	for n := range left { // one each in turn
		given[open[n%len(open)]]++
	}
	return given, true
}
