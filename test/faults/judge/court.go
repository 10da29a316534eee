// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/test/audit"
)

// court is the state of the world while the log is played again.
type court struct {
	Options
	sets map[types.UID]*set
	// pods are the newest states by name, also of those that are going; what is removed is not here.
	pods map[string]*corev1.Pod
	// taken is when others took an available pod out of service, by name.
	taken map[string]loss
	// asked are the UIDs of pods that somebody asked the controllers to delete.
	asked    map[types.UID]string
	findings []Finding
}

// loss is a pod that others took.
type loss struct {
	owner types.UID
	at    time.Time
}

// Check plays the log and says what was broken, in the order of versions. Seen are states of pods that somebody saw, for
// where the log has gaps: an API server that is killed loses its last lines.
func Check(events []audit.Event, seen []audit.Sighting, o Options) ([]Finding, error) {
	all, err := entries(events, seen, o.Namespace)
	if err != nil {
		return nil, err
	}
	c := &court{
		Options: o, sets: map[types.UID]*set{}, pods: map[string]*corev1.Pod{}, taken: map[string]loss{}, asked: map[types.UID]string{},
	}
	for i := range all {
		switch e := &all[i]; {
		case e.owner != nil:
			c.learn(e)
		case e.claim != nil:
			c.claim(e)
		case e.pod != nil:
			c.podChanges(e)
		}
	}
	c.count(events)
	if o.Finished {
		c.end()
	}
	return c.findings, nil
}

func (c *court) ours(e *entry) bool {
	return e.write != nil && audit.Product(e.write.UserAgent) == c.Product
}

func (c *court) find(e *entry, what Invariant, object, format string, args ...any) {
	if e.at.After(c.Since) {
		c.findings = append(c.findings, Finding{what, e.at, e.version, object, fmt.Sprintf(format, args...)})
	}
}

func (c *court) learn(e *entry) {
	if e.gone {
		for _, s := range c.sets {
			if s.name == e.owner.meta.Name && s.single == e.owner.single {
				s.gone = true
			}
		}
		return
	}
	s := c.sets[e.owner.meta.UID]
	if s == nil {
		s = &set{uid: e.owner.meta.UID, name: e.owner.meta.Name, single: e.owner.single}
		c.sets[s.uid] = s
	}
	s.learn(e.owner.spec, e.owner.observed)
	s.gone = s.gone || e.owner.meta.DeletionTimestamp != nil
}

// podChanges judges the step from one state of a pod to the next, and takes it.
func (c *court) podChanges(e *entry) {
	name := e.pod.Name
	before := c.pods[name]
	if before != nil && before.UID != e.pod.UID && e.pod.UID != "" {
		if e.write == nil && number(before.ResourceVersion) > e.version {
			return // a sighting of an earlier pod of that name
		}
		before = nil
	}
	if c.ours(e) {
		c.judge(e, before)
	} else {
		c.othersDid(e, before)
	}
	if e.removes() {
		delete(c.pods, name)
	} else {
		c.pods[name] = e.pod
		if _, marked := e.pod.Labels["apps.kruise.io/specified-delete"]; marked {
			c.asked[e.pod.UID] = name
		}
	}
	if now := c.pods[name]; now != nil && active(now) && audit.Available(now, c.minReady(now), e.at) {
		delete(c.taken, name)
	}
}

// removes: the pod is not there any more. It was deleted at once, or nothing is left to wait for, neither a node nor a finalizer.
func (e *entry) removes() bool {
	pod := e.pod
	return e.gone && (pod.UID == "" || pod.DeletionTimestamp == nil ||
		len(pod.Finalizers) == 0 && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0)
}

func (c *court) othersDid(e *entry, before *corev1.Pod) {
	if before == nil || !active(before) || !audit.Available(before, c.minReady(before), e.at) {
		return
	}
	if e.gone || !audit.Available(e.pod, c.minReady(before), e.at) {
		c.taken[e.pod.Name] = loss{ownerOf(before), e.at}
	}
}

func (c *court) minReady(pod *corev1.Pod) time.Duration {
	if s := c.sets[ownerOf(pod)]; s != nil {
		return s.latest().minReady
	}
	return 0
}

// members are the active pods of a set, by name.
func (c *court) members(s *set) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		if p := c.pods[name]; ownerOf(p) == s.uid && active(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

// serves says whether a pod counts as available, as a controller may fairly believe.
func (c *court) serves(pod *corev1.Pod, minReady time.Duration, at time.Time) bool {
	return audit.Available(pod, minReady, at) || c.lately(pod.Name, at)
}

func (c *court) lately(name string, at time.Time) bool {
	l, is := c.taken[name]
	return is && at.Sub(l.at) < c.Lag
}

// unavailable counts what is missing of the replicas, besides one pod.
func (c *court) unavailable(s *set, of spec, except string, at time.Time) int {
	available, counted := 0, map[string]bool{except: true}
	for _, p := range c.members(s) {
		if s.single && ordinal(s, p.Name) >= of.replicas || p.Name == except {
			continue
		}
		if counted[p.Name] = true; c.serves(p, of.minReady, at) {
			available++
		}
	}
	for name, l := range c.taken { // others have deleted them, and nobody had to know yet
		if !counted[name] && l.owner == s.uid && c.lately(name, at) && !(s.single && ordinal(s, name) >= of.replicas) {
			available++
		}
	}
	return of.replicas - available
}

// anySpec: a write is allowed if one of the specs that a controller may go by allows it; what the newest says against it is the answer.
func anySpec(s *set, objection func(spec) string) string {
	said := ""
	for _, of := range s.specs {
		if said = objection(of); said == "" {
			return ""
		}
	}
	return said
}

func (c *court) owner(pod *corev1.Pod) *set {
	if pod == nil {
		return nil
	}
	return c.sets[ownerOf(pod)]
}

func ownerOf(pod *corev1.Pod) types.UID {
	if ref := metav1.GetControllerOf(pod); ref != nil {
		return ref.UID
	}
	return ""
}

func active(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// ordinal is the number at the end of a pod's name; a pod of another name is beyond all.
func ordinal(s *set, name string) int {
	tail, own := strings.CutPrefix(name, s.name+"-")
	n, err := strconv.Atoi(tail)
	if !own || err != nil {
		return 1 << 30
	}
	return n
}
