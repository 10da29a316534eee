// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

const finalizer = cafev1alpha1.FinalizerPrefixTraffic + "lb"

var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// pod is one of set web, whose gate and readiness are as given.
func pod(name string, gate, ready bool, finalizers ...string) *corev1.Pod {
	status := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Finalizers: finalizers, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: cafev1alpha1.GroupVersion.String(), Kind: cafev1alpha1.InPlaceSetKind, Name: "web", UID: "web", Controller: ptr.To(true),
		}}},
		Status: corev1.PodStatus{PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{
			{Type: cafev1alpha1.ConditionInPlaceUpdateReady, Status: status[gate]}, {Type: corev1.PodReady, Status: status[ready]},
		}},
	}
}

func deleted(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp = ptr.To(metav1.NewTime(epoch))
	return p
}

func TestNext(t *testing.T) {
	const delay = 5 * time.Second
	for sentence, test := range map[string]struct {
		pod        *corev1.Pod
		undeclared bool
		left       time.Time
		want       Decision
	}{
		"a pod that is ready and in service is taken on":           {pod: pod("a", true, true), want: Decision{Backend: true, Finalizer: true}},
		"one that is not ready yet is not":                         {pod: pod("a", true, false), want: Decision{}},
		"one that was taken on stays while it is not ready":        {pod: pod("a", true, false, finalizer), want: Decision{Backend: true, Finalizer: true}},
		"a closed gate takes it out, and its time begins":          {pod: pod("a", false, false, finalizer), want: Decision{Finalizer: true, Wait: delay}},
		"its connections get the time to end":                      {pod: pod("a", false, false, finalizer), left: epoch.Add(-2 * time.Second), want: Decision{Finalizer: true, Wait: 3 * time.Second}},
		"after it the pod is let go of":                            {pod: pod("a", false, false, finalizer), left: epoch.Add(-delay), want: Decision{}},
		"a gate that opens again takes it back at once":            {pod: pod("a", true, true, finalizer), left: epoch.Add(-2 * time.Second), want: Decision{Backend: true, Finalizer: true}},
		"one that is being deleted is let go of with an open gate": {pod: deleted(pod("a", true, true, finalizer)), want: Decision{Finalizer: true, Wait: delay}},
		"one that is being deleted is not taken on":                {pod: deleted(pod("a", true, true)), want: Decision{}},
		"one of a set that declares it no more is let go of":       {pod: pod("a", true, true, finalizer), undeclared: true, want: Decision{Finalizer: true, Wait: delay}},
		"one with a closed gate that nobody routes to is left":     {pod: pod("a", false, false), want: Decision{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Next(test.pod, finalizer, !test.undeclared, test.left, delay, epoch); got != test.want {
				t.Errorf("decision %+v, want %+v", got, test.want)
			}
		})
	}
}

// stage is a cluster with set web and the component.
type stage struct {
	*Component
	t     *testing.T
	clock *clocktesting.FakeClock
}

func newStage(t *testing.T, objects ...client.Object) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme, cafev1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	clk := clocktesting.NewFakeClock(epoch)
	return &stage{t: t, clock: clk, Component: &Component{
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
		clock:  clk, name: "lb", delay: 5 * time.Second, port: 8080, service: "web", left: map[types.UID]time.Time{},
	}}
}

func set() *cafev1alpha1.InPlaceSet {
	return &cafev1alpha1.InPlaceSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "web",
		Annotations: map[string]string{cafev1alpha1.AnnotationTrafficComponents: "rpc, lb"}}}
}

// pass reconciles once, and returns the backends, the pods with the finalizer, and when it wants to look again.
func (s *stage) pass() (backends, held []string, wait time.Duration) {
	s.t.Helper()
	result, err := s.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}})
	if err != nil {
		s.t.Fatal(err)
	}
	slice := &discoveryv1.EndpointSlice{}
	if err := s.client.Get(s.t.Context(), types.NamespacedName{Namespace: "default", Name: "web-lb"}, slice); client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	for _, e := range slice.Endpoints {
		backends = append(backends, e.TargetRef.Name)
	}
	pods := &corev1.PodList{}
	if err := s.client.List(s.t.Context(), pods); err != nil {
		s.t.Fatal(err)
	}
	for _, p := range pods.Items {
		if slices.Contains(p.Finalizers, finalizer) {
			held = append(held, p.Name)
		}
	}
	return backends, held, result.RequeueAfter
}

func (s *stage) change(name string, change func(*corev1.Pod)) {
	s.t.Helper()
	p := &corev1.Pod{}
	if err := s.client.Get(s.t.Context(), types.NamespacedName{Namespace: "default", Name: name}, p); err != nil {
		s.t.Fatal(err)
	}
	change(p)
	if err := s.client.Status().Update(s.t.Context(), p); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) want(backends, held []string, wait time.Duration) {
	s.t.Helper()
	gotBackends, gotHeld, gotWait := s.pass()
	if diff := cmp.Diff([][]string{backends, held}, [][]string{gotBackends, gotHeld}); diff != "" {
		s.t.Errorf("backends and pods with the finalizer (-want +got):\n%s", diff)
	}
	if gotWait != wait {
		s.t.Errorf("looks again after %s, want %s", gotWait, wait)
	}
}

func TestAPodIsTakenOnLetGoOfAndTakenBack(t *testing.T) {
	s := newStage(t, set(), pod("a", true, true), pod("b", true, true), pod("c", false, false))
	s.want([]string{"a", "b"}, []string{"a", "b"}, 0)

	s.change("a", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
	s.want([]string{"b"}, []string{"a", "b"}, 5*time.Second) // out of the backends first
	s.clock.Step(2 * time.Second)
	s.want([]string{"b"}, []string{"a", "b"}, 3*time.Second)
	s.clock.Step(3 * time.Second)
	s.want([]string{"b"}, []string{"b"}, 0)

	s.change("a", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue })
	s.want([]string{"a", "b"}, []string{"a", "b"}, 0)
}

func TestTheLastPodsOfASetThatIsGoneAreLetGoOf(t *testing.T) {
	s := newStage(t, pod("a", true, true, finalizer, "other/finalizer"))
	s.want(nil, []string{"a"}, 5*time.Second)
	s.clock.Step(5 * time.Second)
	s.want(nil, nil, 0)
	s.change("a", func(p *corev1.Pod) {
		if diff := cmp.Diff([]string{"other/finalizer"}, p.Finalizers); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
	})
}

func TestTheBackendsAreAnEndpointSliceOfTheService(t *testing.T) {
	other := pod("other", true, true)
	other.OwnerReferences[0].Kind = "ReplicaSet"
	s := newStage(t, set(), pod("a", true, true), other)
	s.want([]string{"a"}, []string{"a"}, 0)
	slice := &discoveryv1.EndpointSlice{}
	if err := s.client.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "web-lb"}, slice); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{discoveryv1.LabelManagedBy: managedBy, discoveryv1.LabelServiceName: "web"}
	if diff := cmp.Diff(want, slice.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(slice.OwnerReferences) != 1 || slice.OwnerReferences[0].UID != "web" || *slice.Ports[0].Port != 8080 || !*slice.Endpoints[0].Conditions.Ready {
		t.Errorf("EndpointSlice %+v", slice)
	}
}
