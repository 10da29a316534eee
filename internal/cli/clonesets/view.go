// SPDX-License-Identifier: Apache-2.0

package clonesets

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// Snapshot is what was read about one set. Revisions and pods may hold those of others; only the
// set's own count. Nothing in it is changed.
type Snapshot struct {
	Set       *kruisev1alpha1.CloneSet
	Revisions []*appsv1.ControllerRevision
	Pods      []*corev1.Pod
}

// View is a snapshot as people look at it.
type View struct {
	Namespace, Name string
	// Generation is that of the spec that the view shows.
	Generation int64
	Deleting   bool
	Age        time.Duration

	// Phase and Headline say in a word and in a sentence how the set is doing.
	Phase    Phase
	Headline string

	// The numbers are of pods. Total, Ready, Available and Updated are counted from the
	// pods themselves, so that they agree with the rows below them.
	Desired, Total, Ready, Available, Updated, UpdatedAvailable int
	// Limits are the strategy's numbers resolved; LimitsErr says why they could not be.
	Limits    budget.Limits
	LimitsErr error
	Strategy  kruisev1alpha1.CloneSetUpdateStrategy
	MinReady  time.Duration

	Conditions []kruisev1alpha1.CloneSetCondition
	Revisions  []Revision // the newest first
}

// Revision is one revision that has pods, or that the set is on or going to.
type Revision struct {
	Name, Hash string
	// Number is 0 when the revision object is gone.
	Number          int64
	Update, Current bool
	Images          []string // of the template, in its order
	Pods            []Pod
	Available       int
}

// Pod is one row.
type Pod struct {
	Name  string
	UID   types.UID
	State pod.State
	// Why it is not available, empty when it is.
	Why string
	// Images are those that the spec asks for.
	Images            []string
	ReadyContainers   int
	Containers        int
	Restarts          int32
	IP, Node          string
	Age               time.Duration
	Created           time.Time
	available, active bool
	// stuck: it fails, or it runs for longer than patience and is not ready.
	stuck bool
}

// patience is how long the containers of a pod may run without being ready before the view speaks of a failure.
const patience = 5 * time.Second

// NewView looks at a snapshot. Objects of other owners in it are left out.
func NewView(s Snapshot, now time.Time) View {
	v := newView(s.Set, now)
	v.Revisions = revisions(s, now)
	for _, r := range v.Revisions {
		for _, p := range r.Pods {
			v.count(r, p)
		}
	}
	v.Phase, v.Headline = phase(v, s.Set)
	return v
}

// NewSummary looks at a set alone: the numbers are those of its status, and there are no rows.
func NewSummary(set *kruisev1alpha1.CloneSet, now time.Time) View {
	v := newView(set, now)
	status := set.Status
	v.Total, v.Ready, v.Available = int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas)
	v.Updated, v.UpdatedAvailable = int(status.UpdatedReplicas), int(status.UpdatedAvailableReplicas)
	v.Phase, v.Headline = phase(v, set)
	return v
}

func newView(set *kruisev1alpha1.CloneSet, now time.Time) View {
	v := View{
		Namespace: set.Namespace, Name: set.Name, Generation: set.Generation, Deleting: set.DeletionTimestamp != nil, Age: now.Sub(set.CreationTimestamp.Time),
		Desired: int(ptr.Deref(set.Spec.Replicas, 1)), Strategy: set.Spec.UpdateStrategy,
		MinReady: time.Duration(set.Spec.MinReadySeconds) * time.Second, Conditions: set.Status.Conditions,
	}
	v.Limits, v.LimitsErr = budget.NewLimits(budget.Spec{
		Replicas: set.Spec.Replicas, Partition: set.Spec.UpdateStrategy.Partition, MaxSurge: set.Spec.UpdateStrategy.MaxSurge,
		MaxUnavailable: set.Spec.UpdateStrategy.MaxUnavailable, ScaleMaxUnavailable: set.Spec.ScaleStrategy.MaxUnavailable,
		Paused: set.Spec.UpdateStrategy.Paused,
	})
	return v
}

func (v *View) count(r Revision, p Pod) {
	if !p.active {
		return
	}
	v.Total++
	if p.State == pod.Ready || p.available {
		v.Ready++
	}
	if p.available {
		v.Available++
	}
	if r.Update {
		v.Updated++
	}
	if r.Update && p.available {
		v.UpdatedAvailable++
	}
}

// revisions groups the set's pods by the revision that they carry.
func revisions(s Snapshot, now time.Time) []Revision {
	update, current := revision.HashOf(s.Set.Status.UpdateRevision), revision.HashOf(s.Set.Status.CurrentRevision)
	byHash := map[string]*Revision{}
	get := func(hash string) *Revision {
		if byHash[hash] == nil {
			byHash[hash] = &Revision{Hash: hash, Name: hash, Update: hash != "" && hash == update, Current: hash != "" && hash == current}
		}
		return byHash[hash]
	}
	for _, p := range s.Pods {
		if pod.IsControlledBy(p, s.Set.UID) {
			r := get(pod.RevisionHash(p))
			r.Pods = append(r.Pods, newPod(p, s.Set.Spec.MinReadySeconds, now))
		}
	}
	for _, object := range s.Revisions {
		hash := revision.HashOf(object.Name)
		if !pod.IsControlledBy(object, s.Set.UID) || (byHash[hash] == nil && hash != update && hash != current) {
			continue
		}
		r := get(hash)
		r.Name, r.Number = object.Name, object.Revision
		if decoded := revision.Decode(object); decoded.Err == nil {
			r.Images = images(decoded.Written.Spec.Containers)
		}
	}
	all := make([]Revision, 0, len(byHash))
	for _, r := range byHash {
		slices.SortFunc(r.Pods, func(a, b Pod) int {
			return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
		})
		for _, p := range r.Pods {
			if p.available {
				r.Available++
			}
		}
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Hash, b.Hash))
	})
	return all
}

func newPod(p *corev1.Pod, minReadySeconds int32, now time.Time) Pod {
	row := Pod{
		Name: p.Name, UID: p.UID, State: pod.StateOf(p, minReadySeconds, now), Why: pod.WaitingFor(p), Images: images(p.Spec.Containers),
		Containers: len(p.Spec.Containers), IP: p.Status.PodIP, Node: p.Spec.NodeName,
		Age: now.Sub(p.CreationTimestamp.Time), Created: p.CreationTimestamp.Time,
	}
	row.active = pod.IsActive(p)
	row.available = row.active && row.State == pod.Available
	if row.available {
		row.Why = ""
	}
	if row.State == pod.Ready && row.Why == "" {
		if wait, ok := pod.AvailableIn(p, minReadySeconds, now); ok && wait > 0 {
			row.Why = "available in " + seconds(wait)
		}
	}
	row.stuck = row.State == pod.Failing
	for _, c := range p.Status.ContainerStatuses {
		if row.State == pod.NotReady && !c.Ready && c.State.Running != nil && now.Sub(c.State.Running.StartedAt.Time) > patience {
			row.stuck = true
		}
		row.Restarts += c.RestartCount
		if c.Ready {
			row.ReadyContainers++
		}
	}
	return row
}

func images(containers []corev1.Container) []string {
	names := make([]string, 0, len(containers))
	for _, c := range containers {
		names = append(names, c.Image)
	}
	return names
}

// condition finds a condition that is in a given status.
func condition(v View, t kruisev1alpha1.CloneSetConditionType, status corev1.ConditionStatus) *kruisev1alpha1.CloneSetCondition {
	for i := range v.Conditions {
		if v.Conditions[i].Type == t && v.Conditions[i].Status == status {
			return &v.Conditions[i]
		}
	}
	return nil
}

func join(list []string) string { return strings.Join(list, ", ") }
