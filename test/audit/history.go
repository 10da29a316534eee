// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Sighting is one state of one pod.
type Sighting struct {
	// Version is the pod's resourceVersion, which orders all states of all pods.
	// 0 means unknown, as for a removal: the sighting then comes right behind the newest one before it.
	Version uint64
	// At is when the state was seen; it only decides whether minReadySeconds have passed.
	At        time.Time
	Namespace string
	Name      string
	// Pod is the state; nil when only the removal is known.
	Pod *corev1.Pod
	// Gone says that the pod is deleted, or about to be.
	Gone bool
	// Deletion says that this is the answer to a deletion: to the one that begins it, or to the one that ends it.
	Deletion bool
}

// Sightings turns accepted writes into the states that they left behind.
func Sightings(writes []Write) []Sighting {
	var seen []Sighting
	for _, write := range writes {
		if !write.Accepted() {
			continue
		}
		removes := write.Verb == "delete" || write.Verb == "deletecollection" || write.Subresource == "eviction"
		for i := range write.Pods {
			s := See(&write.Pods[i], write.At, removes)
			s.Deletion = removes
			seen = append(seen, s)
		}
		if len(write.Pods) == 0 && removes && write.Name != "" {
			seen = append(seen, Sighting{At: write.At, Namespace: write.Namespace, Name: write.Name, Gone: true, Deletion: true})
		}
	}
	return seen
}

// See is the sighting of a pod as a watch or a list shows it; gone when it was removed.
func See(pod *corev1.Pod, at time.Time, gone bool) Sighting {
	return Sighting{
		Version: version(pod), At: at, Namespace: pod.Namespace, Name: pod.Name, Pod: pod,
		Gone: gone || pod.DeletionTimestamp != nil,
	}
}

// History is all that happened to the pods of one owner, in order.
type History struct {
	seen []Sighting
}

// NewHistory puts the sightings of the owner's pods in order. The owner is the UID of the
// controller in ownerReferences.
func NewHistory(owner types.UID, seen []Sighting) *History {
	return HistoryOf(func(p *corev1.Pod) bool { return ownedBy(p, owner) }, seen)
}

// HistoryOf puts the sightings of certain pods in order, whoever owns them. A pod belongs to them as long as it matches.
func HistoryOf(matches func(*corev1.Pod) bool, seen []Sighting) *History {
	ordered := slices.Clone(seen)
	var last uint64
	for i := range ordered {
		if ordered[i].Version == 0 {
			ordered[i].Version = last + 1
		}
		last = max(last, ordered[i].Version)
	}
	slices.SortStableFunc(ordered, func(a, b Sighting) int { return cmp.Compare(a.Version, b.Version) })

	theirs := map[string]bool{}
	h := &History{}
	for _, s := range ordered {
		if s.Pod != nil {
			theirs[s.key()] = matches(s.Pod)
		}
		if theirs[s.key()] {
			h.seen = append(h.seen, s)
		}
	}
	return h
}

func (s Sighting) key() string { return s.Namespace + "/" + s.Name }

// Window is a part of a history. A state counts when From <= version <= To; To 0 means up to the end.
type Window struct {
	From, To uint64
}

// Moment is the state of an owner's pods right after one sighting.
type Moment struct {
	At      time.Time
	Version uint64
	// Pods is how many pods exist that are neither finished nor being deleted.
	Pods int
	// Available is how many of them can serve.
	Available int
}

// Moments tells the history of a window, one moment per change. The first one is how the
// window began. minReady is how long a pod must have been ready to be available.
func (h *History) Moments(w Window, minReady time.Duration) []Moment {
	var moments []Moment
	h.each(w, func(s Sighting, pods map[string]*corev1.Pod) {
		m := Moment{At: s.At, Version: s.Version}
		for _, pod := range pods {
			m.Pods++
			if Available(pod, minReady, s.At) {
				m.Available++
			}
		}
		moments = append(moments, m)
	})
	return moments
}

// each shows the active pods as they were when the window began, and then right after each sighting in it.
func (h *History) each(w Window, look func(Sighting, map[string]*corev1.Pod)) {
	pods := map[string]*corev1.Pod{}
	began := false
	var before Sighting
	for _, s := range h.seen {
		if w.To != 0 && s.Version > w.To {
			break
		}
		if s.Version > w.From && !began {
			began = true
			look(before, pods)
		}
		if s.over() {
			delete(pods, s.key())
		} else {
			pods[s.key()] = s.Pod
		}
		if s.Version > w.From {
			look(s, pods)
		}
		before = s
	}
	if !began {
		look(before, pods)
	}
}

// At gives the owner's active pods as they were at a version, by name; 0 means at the end.
func (h *History) At(version uint64) map[string]*corev1.Pod {
	pods := map[string]*corev1.Pod{}
	for _, s := range h.seen {
		if version != 0 && s.Version > version {
			break
		}
		if s.over() {
			delete(pods, s.Name)
		} else {
			pods[s.Name] = s.Pod
		}
	}
	return pods
}

// Knows says whether this state of a pod, or a newer one, is in the history.
func (h *History) Knows(p *corev1.Pod) bool {
	for i := len(h.seen) - 1; i >= 0; i-- {
		if s := h.seen[i]; s.Name == p.Name && s.Namespace == p.Namespace {
			return s.Version >= version(p)
		}
	}
	return false
}

// Ever names the pods that were in a state that matches at any time in a window, sorted. The states
// that the window began with do not count.
func (h *History) Ever(w Window, match func(*corev1.Pod) bool) []string {
	names := h.Order(w, match)
	slices.Sort(names)
	return names
}

// Order names the same pods in the order in which they first were in such a state.
func (h *History) Order(w Window, match func(*corev1.Pod) bool) []string {
	var names []string
	for _, s := range h.seen {
		inside := s.Version > w.From && (w.To == 0 || s.Version <= w.To)
		if inside && s.Pod != nil && match(s.Pod) && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Worst is the moment with the fewest available pods, the earliest of several, and how many of
// the replicas were unavailable then. More pods than replicas never make it negative.
func Worst(moments []Moment, replicas int) (unavailable int, at Moment) {
	for _, m := range moments {
		if missing := max(replicas-m.Available, 0); missing > unavailable {
			unavailable, at = missing, m
		}
	}
	return unavailable, at
}

// MostPods is the highest number of active pods at any moment.
func MostPods(moments []Moment) int {
	most := 0
	for _, m := range moments {
		most = max(most, m.Pods)
	}
	return most
}

// Kept names the pods that are in both, with the same UID and the same IP, sorted.
func Kept(before, after map[string]*corev1.Pod) []string {
	var names []string
	for name, old := range before {
		now, found := after[name]
		if found && now.UID == old.UID && now.Status.PodIP == old.Status.PodIP && old.Status.PodIP != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Available says whether a pod can serve at a time: running, Ready for at least minReady, its
// InPlaceUpdateReady condition not false, and in no lifecycle state other than Normal.
func Available(pod *corev1.Pod, minReady time.Duration, now time.Time) bool {
	if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
		return false
	}
	if state := pod.Labels["lifecycle.apps.kruise.io/state"]; state != "" && state != "Normal" {
		return false
	}
	ready := false
	for _, c := range pod.Status.Conditions {
		switch c.Type {
		case corev1.PodReady:
			ready = c.Status == corev1.ConditionTrue && (minReady == 0 || !c.LastTransitionTime.Add(minReady).After(now))
		case "InPlaceUpdateReady":
			if c.Status != corev1.ConditionTrue {
				return false
			}
		}
	}
	return ready
}

func active(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func ownedBy(pod *corev1.Pod, owner types.UID) bool {
	ref := metav1.GetControllerOf(pod)
	return ref != nil && ref.UID == owner
}
