// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset"
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
	if err := kruisev1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	var err error
	if live, err = client.New(server.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return server.Control(scheme, func(mgr ctrl.Manager) error {
		r := cloneset.New(cloneset.Dependencies{
			Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Client: mgr.GetClient(), Events: mgr.GetEventRecorder("slipway"), Clock: clock.RealClock{},
		})
		return r.SetupWithManager(mgr, cloneset.Options{Concurrency: 2})
	})
}

// namespace makes a namespace for one test.
func namespace(t *testing.T) string { t.Helper(); return plane.Namespace(t, live, "cloneset-") }

func podsOf(t *testing.T, ns string) []corev1.Pod { t.Helper(); return plane.Pods(t, live, ns) }

func get(t *testing.T, ns, name string) *kruisev1alpha1.CloneSet {
	t.Helper()
	set := &kruisev1alpha1.CloneSet{}
	if err := live.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, set); err != nil {
		t.Fatalf("reading CloneSet %s: %v", name, err)
	}
	return set
}

func condition(set *kruisev1alpha1.CloneSet, kind kruisev1alpha1.CloneSetConditionType) kruisev1alpha1.CloneSetCondition {
	for _, c := range set.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return kruisev1alpha1.CloneSetCondition{}
}

// greet is the first thing that a node does with a pod. No gate is opened before.
func greet(t *testing.T, ns string) {
	t.Helper()
	for _, p := range podsOf(t, ns) {
		if p.Status.StartTime != nil {
			continue
		}
		before := p.DeepCopy()
		p.Status.StartTime = ptr.To(metav1.Now())
		if err := client.IgnoreNotFound(live.Status().Patch(t.Context(), &p, client.StrategicMergeFrom(before))); err != nil {
			t.Fatalf("greeting pod %s: %v", p.Name, err)
		}
	}
}

// serve makes pods report what a node would: they run and their containers are ready.
func serve(t *testing.T, ns string) {
	t.Helper()
	for _, p := range podsOf(t, ns) {
		before := p.DeepCopy()
		p.Status.Phase = corev1.PodRunning
		for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		}
		if err := live.Status().Patch(t.Context(), &p, client.StrategicMergeFrom(before)); err != nil {
			t.Fatalf("reporting pod %s ready: %v", p.Name, err)
		}
	}
}
