// SPDX-License-Identifier: Apache-2.0

package inplaceset_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/inplaceset"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/integration/plane"
)

var (
	server *plane.Plane
	live   client.Client
)

func TestMain(m *testing.M) {
	os.Exit(plane.RunWithStore(m, func(p *plane.Plane) {
		server = p
		if err := startController(); err != nil {
			fmt.Fprintln(os.Stderr, "starting the controller:", err)
			os.Exit(1)
		}
	}))
}

// startController runs the controller until the plane stops.
func startController() error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := cafev1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	var err error
	if live, err = client.New(server.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return server.Control(scheme, func(mgr ctrl.Manager) error {
		r := inplaceset.New(inplaceset.Dependencies{
			Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Client: mgr.GetClient(), Events: mgr.GetEventRecorder("slipway"), Clock: clock.RealClock{},
		})
		return r.SetupWithManager(mgr, inplaceset.Options{Concurrency: 2})
	})
}

// namespace makes a namespace for one test.
func namespace(t *testing.T) string { t.Helper(); return plane.Namespace(t, live, "inplaceset-") }

func podsOf(t *testing.T, ns string) []corev1.Pod { t.Helper(); return plane.Pods(t, live, ns) }

func get(t *testing.T, ns, name string) *cafev1alpha1.InPlaceSet {
	t.Helper()
	set := &cafev1alpha1.InPlaceSet{}
	if err := live.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, set); err != nil {
		t.Fatalf("reading InPlaceSet %s: %v", name, err)
	}
	return set
}

func condition(set *cafev1alpha1.InPlaceSet, kind cafev1alpha1.ConditionType) cafev1alpha1.Condition {
	for _, c := range set.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return cafev1alpha1.Condition{}
}

// serve makes pods report what a node would: they run what their spec says, and are ready as far as their gate is open.
func serve(t *testing.T, ns string) {
	t.Helper()
	for _, p := range podsOf(t, ns) {
		before := p.DeepCopy()
		p.Status.Phase, p.Status.StartTime, p.Status.ObservedGeneration = corev1.PodRunning, ptr.To(metav1.Now()), p.Generation
		c := &p.Spec.Containers[0]
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: c.Name, Image: c.Image, ImageID: "digest-of-" + c.Image, ContainerID: "test://" + string(p.UID) + "/" + c.Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}}
		ready := corev1.ConditionFalse
		if gateOf(&p) == corev1.ConditionTrue {
			ready = corev1.ConditionTrue
		}
		for kind, status := range map[corev1.PodConditionType]corev1.ConditionStatus{corev1.ContainersReady: corev1.ConditionTrue, corev1.PodReady: ready} {
			if c := pod.Condition(&p, kind); c != nil {
				c.Status = status
				continue
			}
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.Now()})
		}
		if err := client.IgnoreNotFound(live.Status().Patch(t.Context(), &p, client.StrategicMergeFrom(before))); err != nil {
			t.Fatalf("reporting pod %s: %v", p.Name, err)
		}
	}
}

func gateOf(p *corev1.Pod) corev1.ConditionStatus {
	if c := pod.Condition(p, cafev1alpha1.ConditionInPlaceUpdateReady); c != nil {
		return c.Status
	}
	return ""
}

// route has a component take pods on that are in service, and let go of those that are not.
func route(t *testing.T, ns, component string) {
	t.Helper()
	finalizer := cafev1alpha1.FinalizerPrefixTraffic + component
	for _, p := range podsOf(t, ns) {
		before := p.DeepCopy()
		p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == finalizer })
		if gateOf(&p) == corev1.ConditionTrue && p.DeletionTimestamp == nil {
			p.Finalizers = append(p.Finalizers, finalizer)
		}
		if slices.Equal(before.Finalizers, p.Finalizers) {
			continue
		}
		if err := client.IgnoreNotFound(live.Patch(t.Context(), &p, client.MergeFrom(before))); err != nil {
			t.Fatalf("%s changes the finalizers of pod %s: %v", component, p.Name, err)
		}
	}
}
