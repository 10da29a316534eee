// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/audit"
)

const (
	us     = "slipway-manager/v1 (linux/amd64) via/a"
	node   = "slipway-node/v1"
	person = "kubectl/v1"
)

var start = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// story writes an audit log: each write gets the next version, and comes a second after the one before.
type story struct {
	t      *testing.T
	now    int
	events []audit.Event
	pods   map[string]*corev1.Pod
}

func (s *story) write(agent, verb, group, resource, sub, name string, asked, answered any) {
	encode := func(v any) json.RawMessage {
		if v == nil {
			return nil
		}
		raw, err := json.Marshal(v)
		if err != nil {
			s.t.Fatal(err)
		}
		return raw
	}
	at := start.Add(time.Duration(s.now) * time.Second)
	s.events = append(s.events, audit.Event{
		Received: at, At: at.Add(time.Millisecond), UserAgent: agent, Verb: verb, Group: group, Resource: resource, Subresource: sub,
		Namespace: "demo", Name: name, Code: 200, Asked: encode(asked), Answered: encode(answered),
	})
}

func (s *story) version() string {
	s.now++
	return strconv.Itoa(s.now)
}

// cloneSet writes the set "web" with a next generation.
func (s *story) cloneSet(replicas int32, image string, change ...func(*kruisev1alpha1.CloneSet)) {
	set := &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "demo", UID: "set", ResourceVersion: s.version()}}
	set.Generation = int64(s.now)
	set.Spec.Replicas = &replicas
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
	set.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	for _, c := range change {
		c(set)
	}
	s.write(person, "patch", "apps.kruise.io", "clonesets", "", "web", nil, set)
}

// statefulSet writes the set "db" with a next generation.
func (s *story) statefulSet(replicas int32, image string, change ...func(*kruisev1beta1.StatefulSet)) {
	set := &kruisev1beta1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "demo", UID: "set", ResourceVersion: s.version()}}
	set.Generation = int64(s.now)
	set.Spec.Replicas = &replicas
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
	for _, c := range change {
		c(set)
	}
	s.write(person, "patch", "apps.kruise.io", "statefulsets", "", "db", nil, set)
}

func parallel(set *kruisev1beta1.StatefulSet) {
	set.Spec.PodManagementPolicy = kruisev1beta1.ParallelPodManagement
}

// pod writes a pod of the set in a state: a creation when it is not there.
func (s *story) pod(agent, name string, change ...func(*corev1.Pod)) {
	verb, p := "patch", s.pods[name]
	if p == nil {
		verb = "create"
		p = &corev1.Pod{
			TypeMeta: metav1.TypeMeta{Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "demo", UID: types.UID(fmt.Sprintf("%s-%d", name, s.now)),
				OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: ptr.To(true)}},
			},
			Spec: corev1.PodSpec{
				Containers:     []corev1.Container{{Name: "app", Image: "v1"}},
				ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "InPlaceUpdateReady"}},
			},
			Status: corev1.PodStatus{Phase: corev1.PodPending},
		}
	}
	p = p.DeepCopy()
	for _, c := range change {
		c(p)
	}
	p.ResourceVersion = s.version()
	s.write(agent, verb, "", "pods", "", name, nil, p)
	s.pods[name] = p
}

// ready makes pods that serve, of image v1.
func (s *story) ready(names ...string) {
	for _, name := range names {
		s.pod(us, name)
		s.pod(node, name, serving)
	}
}

func (s *story) remove(agent, name string, asked *metav1.DeleteOptions) {
	p := s.pods[name].DeepCopy()
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.ResourceVersion = ptr.To(metav1.NewTime(start)), ptr.To[int64](30), s.version()
	s.write(agent, "delete", "", "pods", "", name, asked, p)
	s.pods[name] = p
}

// leave has the node remove a pod that goes.
func (s *story) leave(name string) {
	p := s.pods[name].DeepCopy()
	p.DeletionGracePeriodSeconds, p.ResourceVersion = ptr.To[int64](0), s.version()
	s.write(node, "delete", "", "pods", "", name, nil, p)
	delete(s.pods, name)
}

// expect compares what was found with what was to be, by invariants.
func expect(t *testing.T, want []Invariant, found []Finding, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var got []Invariant
	for _, f := range found {
		got = append(got, f.Invariant)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("broken (-want +got):\n%s\n%v", diff, found)
	}
}

func serving(p *corev1.Pod) {
	p.Status.Phase, p.Status.PodIP = corev1.PodRunning, "10.0.0.1"
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: "InPlaceUpdateReady", Status: corev1.ConditionTrue}}
}

func unready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }
func drained(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionFalse }

func runs(image string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Image = image }
}

func inPlaceOnly(set *kruisev1alpha1.CloneSet) {
	set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType
}

func TestCheck(t *testing.T) {
	for sentence, test := range map[string]struct {
		tell    func(*story)
		options func(*Options)
		want    []Invariant
	}{
		"a release in place within the allowance is fine": {tell: func(s *story) {
			s.cloneSet(2, "v1")
			s.ready("web-a", "web-b")
			s.cloneSet(2, "v2")
			for _, name := range []string{"web-a", "web-b"} {
				s.pod(us, name, drained)
				s.pod(us, name, runs("v2"))
				s.pod(us, name, serving)
			}
		}, options: func(o *Options) { o.Finished = true }},
		"draining one more than may be unavailable breaks the budget": {tell: func(s *story) {
			s.cloneSet(3, "v1")
			s.ready("web-a", "web-b", "web-c")
			s.pod(us, "web-a", drained)
			s.pod(us, "web-b", drained)
		}, want: []Invariant{Budget}},
		"deleting one more than may be unavailable breaks the budget": {tell: func(s *story) {
			s.cloneSet(3, "v1")
			s.ready("web-a", "web-b", "web-c")
			s.remove(us, "web-a", nil)
			s.remove(us, "web-b", nil)
		}, want: []Invariant{Budget}},
		"a broken pod may be deleted at any time": {tell: func(s *story) {
			s.cloneSet(3, "v1")
			s.ready("web-a", "web-b", "web-c")
			s.pod(us, "web-a", drained)
			s.pod(node, "web-b", unready)
			s.remove(us, "web-b", nil)
		}},
		"what others took long ago counts": {tell: func(s *story) {
			s.cloneSet(3, "v1")
			s.ready("web-a", "web-b", "web-c")
			s.pod(node, "web-a", unready)
			s.pod(us, "web-b", drained)
		}, want: []Invariant{Budget}},
		"what others took an instant ago does not": {tell: func(s *story) {
			s.cloneSet(3, "v1")
			s.ready("web-a", "web-b", "web-c")
			s.remove(person, "web-a", nil)
			s.pod(us, "web-b", drained)
		}, options: func(o *Options) { o.Lag = 1500 * time.Millisecond }},
		"pods above the replicas may be deleted": {tell: func(s *story) {
			s.cloneSet(3, "v1")
			s.ready("web-a", "web-b", "web-c")
			s.cloneSet(1, "v1")
			s.remove(us, "web-a", nil)
			s.remove(us, "web-b", nil)
		}, options: func(o *Options) { o.Finished = true }},
		"scaling in to fewer than are wanted breaks the budget": {tell: func(s *story) {
			s.cloneSet(3, "v1")
			s.ready("web-a", "web-b", "web-c")
			s.cloneSet(2, "v1")
			s.remove(us, "web-a", nil)
			s.remove(us, "web-b", nil)
			s.remove(us, "web-c", nil)
		}, want: []Invariant{Budget}},
		"a spec that was overtaken and not yet seen to be may be followed": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.ready("web-a")
			s.cloneSet(2, "v1")
			s.cloneSet(1, "v1")
			s.ready("web-b")
		}},
		"a spec that was seen to be overtaken may not": {tell: func(s *story) {
			s.cloneSet(2, "v1")
			s.cloneSet(1, "v1", func(set *kruisev1alpha1.CloneSet) { set.Status.ObservedGeneration = set.Generation })
			s.ready("web-a", "web-b")
		}, want: []Invariant{Surge}},
		"a pod above replicas and surge is one too many": {tell: func(s *story) {
			s.cloneSet(1, "v1", func(set *kruisev1alpha1.CloneSet) { set.Spec.UpdateStrategy.MaxSurge = ptr.To(intstr.FromInt32(1)) })
			s.ready("web-a", "web-b", "web-c")
		}, want: []Invariant{Surge}},
		"one pod more than the partition leaves gets the new template": {tell: func(s *story) {
			keep := func(set *kruisev1alpha1.CloneSet) { set.Spec.UpdateStrategy.Partition = ptr.To(intstr.FromInt32(2)) }
			s.cloneSet(3, "v1", keep)
			s.ready("web-a", "web-b", "web-c")
			s.cloneSet(3, "v2", keep)
			for _, name := range []string{"web-a", "web-b"} {
				s.pod(us, name, drained)
				s.pod(us, name, runs("v2"))
				s.pod(us, name, serving)
			}
		}, want: []Invariant{Partition}},
		"an ordinal below the partition gets the new template": {tell: func(s *story) {
			keep := func(set *kruisev1beta1.StatefulSet) {
				set.Spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](1)}
			}
			s.statefulSet(1, "v1", parallel, keep)
			s.ready("db-0")
			s.statefulSet(1, "v2", parallel, keep)
			s.remove(us, "db-0", nil)
			s.leave("db-0")
			s.pod(us, "db-0", runs("v2"))
		}, want: []Invariant{Partition}},
		"an ordinal that is not wanted is made": {tell: func(s *story) {
			s.statefulSet(2, "v1", parallel)
			s.ready("db-0", "db-2")
		}, want: []Invariant{Ordinal}},
		"two pods of one instance": {tell: func(s *story) {
			s.cloneSet(2, "v1")
			same := func(p *corev1.Pod) { p.Labels = map[string]string{instanceID: "x"} }
			s.pod(us, "web-a", same)
			s.pod(us, "web-b", same)
		}, want: []Invariant{Ordinal}},
		"a pod is removed without its node": {tell: func(s *story) {
			s.statefulSet(1, "v1", parallel)
			s.ready("db-0")
			s.remove(us, "db-0", &metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		}, want: []Invariant{Ordinal}},
		"an ordered set makes a pod before the one below serves": {tell: func(s *story) {
			s.statefulSet(2, "v1")
			s.pod(us, "db-0")
			s.pod(us, "db-1")
		}, want: []Invariant{Order}},
		"an ordered set is updated from below": {tell: func(s *story) {
			s.statefulSet(2, "v1")
			s.ready("db-0", "db-1")
			s.statefulSet(2, "v2")
			s.remove(us, "db-0", nil)
		}, want: []Invariant{Order}},
		"an ordered set goes on before the updated pod serves": {tell: func(s *story) {
			s.statefulSet(2, "v1")
			s.ready("db-0", "db-1")
			s.statefulSet(2, "v2")
			s.remove(us, "db-1", nil)
			s.leave("db-1")
			s.pod(us, "db-1", runs("v2"))
			s.remove(us, "db-0", nil)
		}, want: []Invariant{Budget, Order}},
		"an ordered set is scaled in from below": {tell: func(s *story) {
			s.statefulSet(3, "v1")
			s.ready("db-0", "db-1", "db-2")
			s.statefulSet(1, "v1")
			s.remove(us, "db-1", nil)
		}, want: []Invariant{Order}},
		"an ordered set is updated and scaled in as it should be": {tell: func(s *story) {
			s.statefulSet(2, "v1")
			s.ready("db-0", "db-1")
			s.statefulSet(2, "v2")
			for _, name := range []string{"db-1", "db-0"} {
				s.remove(us, name, nil)
				s.leave(name)
				s.pod(us, name, runs("v2"))
				s.pod(node, name, serving)
			}
			s.statefulSet(1, "v2")
			s.remove(us, "db-1", nil)
		}, options: func(o *Options) { o.Finished = true }},
		"a parallel set may begin anywhere": {tell: func(s *story) {
			s.statefulSet(2, "v1", parallel)
			s.ready("db-1", "db-0")
			s.statefulSet(2, "v2", parallel)
			s.remove(us, "db-0", nil)
		}},
		"a pod that must be kept is deleted": {tell: func(s *story) {
			s.cloneSet(2, "v1", inPlaceOnly)
			s.ready("web-a", "web-b")
			s.remove(us, "web-a", nil)
		}, want: []Invariant{InPlace}},
		"a container is changed while its pod is in service": {tell: func(s *story) {
			s.cloneSet(2, "v1")
			s.ready("web-a", "web-b")
			s.cloneSet(2, "v2")
			s.pod(us, "web-a", runs("v2"))
		}, want: []Invariant{InPlace}},
		"a pod loses its IP": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.ready("web-a")
			s.pod(us, "web-a", func(p *corev1.Pod) { p.Status.PodIP = "" })
		}, want: []Invariant{InPlace}},
		"a pod of somebody else is touched": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.pod(person, "web-x", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" })
			s.pod(us, "web-x", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} })
		}, want: []Invariant{Foreign}},
		"a pod of nobody is deleted": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.pod(person, "web-x", func(p *corev1.Pod) { p.OwnerReferences = nil })
			s.remove(us, "web-x", nil)
		}, want: []Invariant{Foreign}},
		"a finalizer of others is removed": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.ready("web-a")
			s.pod(person, "web-a", func(p *corev1.Pod) { p.Finalizers = []string{"test/hold"} })
			s.pod(us, "web-a", func(p *corev1.Pod) { p.Finalizers = nil })
		}, want: []Invariant{Deletion}},
		"a pod that a person chose is still there at the end": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.ready("web-a")
			s.pod(person, "web-a", func(p *corev1.Pod) { p.Labels = map[string]string{"apps.kruise.io/specified-delete": "true"} })
		}, options: func(o *Options) { o.Finished = true }, want: []Invariant{Deletion}},
		"a claim in use is deleted": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.pod(us, "web-a", func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-a"}}}}
			})
			s.write(us, "delete", "", "persistentvolumeclaims", "", "data-web-a", nil, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{ResourceVersion: s.version()}})
		}, want: []Invariant{Claim}},
		"a claim that is kept is deleted": {tell: func(s *story) {
			s.statefulSet(0, "v1")
			s.write(us, "delete", "", "persistentvolumeclaims", "", "data-db-0", nil,
				&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{ResourceVersion: s.version(), Labels: map[string]string{"app": "db"}}})
		}, want: []Invariant{Claim}},
		"a person's own deletion of a claim is not ours": {tell: func(s *story) {
			s.statefulSet(0, "v1")
			s.write(person, "delete", "", "persistentvolumeclaims", "", "data-db-0", nil,
				&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{ResourceVersion: s.version(), Labels: map[string]string{"app": "db"}}})
		}},
		"the end is missed by a pod and by a template": {tell: func(s *story) {
			s.cloneSet(2, "v1")
			s.ready("web-a")
			s.cloneSet(2, "v2")
		}, options: func(o *Options) { o.Finished = true }, want: []Invariant{Finished, Finished}},
		"an ordinal is left over at the end": {tell: func(s *story) {
			s.statefulSet(2, "v1")
			s.ready("db-0", "db-1")
			s.statefulSet(1, "v1")
		}, options: func(o *Options) { o.Finished = true }, want: []Invariant{Finished, Finished}},
		"the answer to a drain is lost": {tell: func(s *story) {
			s.cloneSet(1, "v2")
			s.ready("web-a")
			drainedPod := s.pods["web-a"].DeepCopy()
			drained(drainedPod)
			unready(drainedPod)
			drainedPod.ResourceVersion = s.version()
			s.pods["web-a"] = drainedPod // nothing was written down of it
			s.pod(us, "web-a", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "v2" })
		}},
		"a pod is changed too often": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.ready("web-a")
			for i := range 3 {
				s.pod(us, "web-a", func(p *corev1.Pod) { p.Annotations = map[string]string{"i": strconv.Itoa(i)} })
			}
		}, options: func(o *Options) { o.MostWrites = 3 }, want: []Invariant{Writes}},
		"a pod that comes again under its name is another one": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.ready("web-a")
			s.remove("somebody", "web-a", nil)
			s.leave("web-a")
			s.ready("web-a")
		}, options: func(o *Options) { o.MostWrites = 1 }},
		"a refused write counts as a try": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.write(us, "create", "", "pods", "", "web-a", nil, nil)
			s.write(us, "create", "", "pods", "", "web-a", nil, nil)
			s.events[1].Code, s.events[2].Code = 409, 409
		}, options: func(o *Options) { o.MostTries, o.MostWrites = 1, 1 }, want: []Invariant{Writes}},
		"what was before counts for nothing": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.ready("web-a", "web-b")
		}, options: func(o *Options) { o.Since = start.Add(time.Hour) }},
		"another namespace is nothing to us": {tell: func(s *story) {
			s.cloneSet(1, "v1")
			s.ready("web-a", "web-b")
		}, options: func(o *Options) { o.Namespace = "other" }},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &story{t: t, pods: map[string]*corev1.Pod{}}
			test.tell(s)
			o := Options{Product: "slipway-manager", Namespace: "demo"}
			if test.options != nil {
				test.options(&o)
			}
			slices.Reverse(s.events) // the order of lines is that of answers, and means nothing
			found, err := Check(s.events, nil, o)
			expect(t, test.want, found, err)
		})
	}
}

func TestASightingFillsAGapOfTheLog(t *testing.T) {
	s := &story{t: t, pods: map[string]*corev1.Pod{}}
	s.cloneSet(2, "v1")
	s.ready("web-a")
	s.pod(us, "web-b")
	s.pod(node, "web-b", serving)
	lost := s.pods["web-b"]
	s.events = s.events[:len(s.events)-1] // the server died before it wrote this down
	s.pod(us, "web-a", drained)
	o := Options{Product: "slipway-manager", Namespace: "demo"}
	if found, err := Check(s.events, nil, o); err != nil || len(found) != 1 || found[0].Invariant != Budget {
		t.Errorf("without the sighting: %v, error %v", found, err)
	}
	seen := []audit.Sighting{audit.See(lost, start.Add(time.Hour), false)}
	if found, err := Check(s.events, seen, o); err != nil || len(found) != 0 {
		t.Errorf("with the sighting: %v, error %v", found, err)
	}
}

func TestCheckLease(t *testing.T) {
	const them = "slipway-manager/v1 via/b"
	lease := func(s *story, agent, holder string) {
		s.write(agent, "update", "coordination.k8s.io", "leases", "", "slipway-manager", nil, map[string]any{
			"metadata": map[string]any{"resourceVersion": s.version()},
			"spec":     map[string]any{"holderIdentity": holder, "leaseDurationSeconds": 3},
		})
	}
	for sentence, test := range map[string]struct {
		tell func(*story)
		want int
	}{
		"the holder may write": {tell: func(s *story) { lease(s, "slipway-manager/v1/leader-election via/a", "one"); s.pod(us, "web-a") }},
		"another may not":      {tell: func(s *story) { lease(s, them, "two"); lease(s, us, "one"); s.pod(them, "web-a") }, want: 1},
		"after a takeover the old one may not": {
			tell: func(s *story) { lease(s, us, "one"); lease(s, them, "two"); s.pod(us, "web-a"); s.pod(them, "web-b") }, want: 1},
		"nobody may when it was given back": {tell: func(s *story) { lease(s, us, "one"); lease(s, us, ""); s.pod(us, "web-a") }, want: 1},
		"the holder may not when it has run out": {
			tell: func(s *story) { lease(s, us, "one"); s.now += 3; s.pod(us, "web-a") }, want: 1},
		"a patch without effect answers an old version, which proves nothing": {tell: func(s *story) {
			lease(s, us, "one")
			s.pod(us, "web-a")
			lease(s, them, "two")
			s.now++
			s.write(them, "patch", "", "pods", "", "web-a", nil, s.pods["web-a"])
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &story{t: t, pods: map[string]*corev1.Pod{}}
			test.tell(s)
			found, err := CheckLease(s.events, "slipway-manager", time.Time{})
			if err != nil || len(found) != test.want {
				t.Errorf("%d findings, want %d: %v, error %v", len(found), test.want, found, err)
			}
		})
	}
}

func TestCheckSilence(t *testing.T) {
	s := &story{t: t, pods: map[string]*corev1.Pod{}}
	s.pod(us, "web-a")
	s.pod(us, "web-b")
	s.pod(person, "web-c")
	if found := CheckSilence(s.events, "slipway-manager", "demo", start.Add(1500*time.Millisecond), start.Add(time.Hour)); len(found) != 1 || found[0].Object != "pods web-b" {
		t.Errorf("found %v, want web-b", found)
	}
}
