// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// rollout writes a state of the rollout "web", with batches of one, one and the rest.
func (s *story) rollout(agent string, change ...func(*rolloutv1alpha1.RolloutTrait)) {
	r := &rolloutv1alpha1.RolloutTrait{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "demo", UID: "r", ResourceVersion: s.version()}}
	r.Spec.TargetRef = rolloutv1alpha1.WorkloadReference{Kind: "CloneSet", Name: "web"}
	one := ptr.To(intstr.FromInt32(1))
	r.Spec.RolloutPlan.RolloutBatches = []rolloutv1alpha1.RolloutBatch{{Replicas: one}, {Replicas: one}, {}}
	for _, c := range change {
		c(r)
	}
	s.write(agent, "patch", "standard.oam.dev", "rollouttraits", "", "web", nil, r)
}

func succeeded(r *rolloutv1alpha1.RolloutTrait) {
	r.Status.RollingState = rolloutv1alpha1.RolloutSucceedState
}

func ofTwo(r *rolloutv1alpha1.RolloutTrait) {
	r.Spec.TargetRef = rolloutv1alpha1.WorkloadReference{Kind: "Deployment", Name: "newer"}
	r.Spec.SourceRef = []rolloutv1alpha1.WorkloadReference{{Kind: "Deployment", Name: "older"}}
}

// lets has the manager give the set "web" of 3 pods a partition.
func (s *story) lets(partition int32, change ...func(*kruisev1alpha1.CloneSet)) {
	s.cloneSet(3, "v2", append(change, func(c *kruisev1alpha1.CloneSet) {
		c.Spec.UpdateStrategy.Partition = ptr.To(intstr.FromInt32(partition))
	})...)
	s.events[len(s.events)-1].UserAgent = us
}

func holds(c *kruisev1alpha1.CloneSet) { c.Labels = map[string]string{held: "true"} }

// updates has a pod come to the new version and serve.
func (s *story) updates(names ...string) {
	for _, name := range names {
		s.pod(us, name, drained)
		s.pod(us, name, runs("v2"))
		s.pod(node, name, serving)
	}
}

func (s *story) deployment(agent, name string, replicas int32) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "demo", UID: types.UID(name), ResourceVersion: s.version()}}
	d.Spec.Replicas = &replicas
	s.write(agent, "patch", "apps", "deployments", "", name, nil, d)
}

// serves makes serving pods of a Deployment.
func (s *story) serves(of string, names ...string) {
	for _, name := range names {
		s.pod(node, name, serving, func(p *corev1.Pod) {
			p.Labels = map[string]string{"app": of}
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: of + "-1", UID: types.UID(of + "-1"), Controller: ptr.To(true)}}
		})
	}
}

func TestCheckRollouts(t *testing.T) {
	begun := func(s *story) {
		s.cloneSet(3, "v1")
		s.ready("web-a", "web-b", "web-c")
		s.lets(3)
		s.rollout(person)
	}
	pair := func(s *story) {
		s.deployment(person, "older", 3)
		s.serves("older", "older-1-a", "older-1-b", "older-1-c")
		s.deployment(person, "newer", 0)
		s.rollout(person, ofTwo)
	}
	for sentence, test := range map[string]struct {
		tell func(*story)
		lag  time.Duration
		want []Invariant
	}{
		"batch by batch is fine": {tell: func(s *story) {
			begun(s)
			s.lets(2, holds)
			s.updates("web-a")
			s.lets(1, holds)
			s.updates("web-b")
			s.lets(0, holds)
			s.updates("web-c")
			s.lets(0)
			s.rollout(us, succeeded)
		}},
		"a batch before its predecessor is there": {tell: func(s *story) {
			begun(s)
			s.lets(2, holds)
			s.lets(1, holds)
			s.updates("web-a", "web-b")
			s.lets(0)
			s.updates("web-c")
			s.rollout(us, succeeded)
		}, want: []Invariant{Batch}},
		"more than the first batch": {tell: func(s *story) {
			begun(s)
			s.lets(1)
			s.updates("web-a", "web-b")
			s.lets(0)
			s.updates("web-c")
			s.rollout(us, succeeded)
		}, want: []Invariant{Batch}},
		"a pod that is lost after its batch was there does not count": {tell: func(s *story) {
			begun(s)
			s.lets(2)
			s.updates("web-a")
			s.pod(node, "web-a", unready)
			s.lets(1)
			s.updates("web-b", "web-a")
			s.lets(0)
			s.updates("web-c")
			s.rollout(us, succeeded)
		}},
		"a workload that is held in the end": {tell: func(s *story) {
			begun(s)
			s.lets(2)
			s.updates("web-a")
			s.lets(1)
			s.updates("web-b")
			s.lets(0, holds)
			s.updates("web-c")
			s.rollout(us, succeeded)
		}, want: []Invariant{Released}},
		"a rollout that keeps its finalizer": {tell: func(s *story) {
			begun(s)
			s.lets(2)
			s.updates("web-a")
			s.lets(1)
			s.updates("web-b")
			s.lets(0)
			s.updates("web-c")
			s.rollout(us, succeeded, func(r *rolloutv1alpha1.RolloutTrait) { r.Finalizers = []string{rolloutv1alpha1.FinalizerRollout} })
		}, want: []Invariant{Released}},
		"one that says it has succeeded, and old pods are left": {tell: func(s *story) {
			begun(s)
			s.lets(2)
			s.updates("web-a")
			s.rollout(us, succeeded)
		}, want: []Invariant{Finished}},
		"two objects take turns": {tell: func(s *story) {
			pair(s)
			s.deployment(us, "newer", 1)
			s.serves("newer", "newer-1-a")
			s.deployment(us, "older", 2)
			s.deployment(us, "newer", 2)
			s.serves("newer", "newer-1-b")
			s.deployment(us, "newer", 3)
			s.serves("newer", "newer-1-c")
			s.deployment(us, "older", 0)
			s.rollout(us, ofTwo, succeeded)
		}},
		"the older one is left too few": {tell: func(s *story) {
			pair(s)
			s.deployment(us, "newer", 1)
			s.deployment(us, "older", 2)
			s.serves("newer", "newer-1-a")
			s.deployment(us, "newer", 2)
			s.serves("newer", "newer-1-b")
			s.deployment(us, "newer", 3)
			s.serves("newer", "newer-1-c")
			s.deployment(us, "older", 0)
			s.rollout(us, ofTwo, succeeded)
		}, want: []Invariant{Budget}},
		"others have taken one an instant ago": {tell: func(s *story) {
			pair(s)
			s.deployment(us, "newer", 1)
			s.serves("newer", "newer-1-a")
			s.pod(node, "newer-1-a", unready)
			s.deployment(us, "older", 2)
			s.serves("newer", "newer-1-a")
			s.deployment(us, "newer", 2)
			s.serves("newer", "newer-1-b")
			s.deployment(us, "newer", 3)
			s.serves("newer", "newer-1-c")
			s.deployment(us, "older", 0)
			s.rollout(us, ofTwo, succeeded)
		}, lag: 5 * time.Second},
		"the newer one grows before its turn": {tell: func(s *story) {
			pair(s)
			s.deployment(us, "newer", 3)
			s.serves("newer", "newer-1-a", "newer-1-b", "newer-1-c")
			s.deployment(us, "older", 0)
			s.rollout(us, ofTwo, succeeded)
		}, want: []Invariant{Batch}},
		"what a person does is theirs": {tell: func(s *story) {
			pair(s)
			s.deployment(person, "newer", 3)
			s.serves("newer", "newer-1-a", "newer-1-b", "newer-1-c")
			s.deployment(person, "older", 0)
			s.rollout(us, ofTwo, succeeded)
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &story{t: t, pods: map[string]*corev1.Pod{}}
			test.tell(s)
			findings, err := CheckRollouts(s.events, nil, Options{Product: "slipway-manager", Namespace: "demo", Lag: test.lag, Finished: true})
			expect(t, test.want, findings, err)
		})
	}
}
