// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/live"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/pod"
)

func TestMain(m *testing.M) {
	for _, add := range []func() error{
		func() error { return apiextensionsv1.AddToScheme(scheme.Scheme) },
		func() error { return kruisev1alpha1.AddToScheme(scheme.Scheme) },
		func() error { return kruisev1beta1.AddToScheme(scheme.Scheme) },
		func() error { return cafev1alpha1.AddToScheme(scheme.Scheme) },
		func() error { return rolloutv1alpha1.AddToScheme(scheme.Scheme) },
		func() error { return oamv1beta1.AddToScheme(scheme.Scheme) },
	} {
		if err := add(); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func TestStopped(t *testing.T) {
	at := time.Unix(0, 0)
	look := stopped(func() time.Time { return at })
	for _, step := range []struct {
		sentence string
		phase    sets.Phase
		after    time.Duration
		want     bool
	}{
		{"going on is not stopped", sets.Releasing, 0, false},
		{"held up is not at once stopped", sets.HeldUp, 0, false},
		{"nor a little later", sets.HeldUp, stillness - 1, false},
		{"if it goes on", sets.Releasing, 1, false},
		{"the time counts anew", sets.HeldUp, stillness, false},
		{"until it was still for long enough", sets.HeldUp, stillness, true},
		{"a complete release will not stop any more", sets.Complete, 0, true},
	} {
		at = at.Add(step.after)
		if got := look(sets.View{Phase: step.phase}); got != step.want {
			t.Errorf("%s: stopped is %t", step.sentence, got)
		}
	}
}

func TestReasons(t *testing.T) {
	pods := []sets.Revision{{Pods: []sets.Pod{{Name: "web-a", State: pod.NotReady, Why: "container app is not ready"}, {Name: "web-b"}}}}
	for sentence, test := range map[string]struct {
		view sets.View
		want []string
	}{
		"the set's own condition comes first": {
			sets.View{Revisions: pods, Conditions: []sets.Condition{{
				Type: "Ready", Status: corev1.ConditionFalse, Reason: "WaitingForPods", Message: "waiting for pod web-a"}}},
			[]string{"condition Ready is False, WaitingForPods:", "waiting for pod web-a"},
		},
		"without one the pods are asked": {sets.View{Revisions: pods}, []string{"pod web-a is NotReady: container app is not ready"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, reasons(test.view)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResetRemovesWhatAnEarlierDemoLeft(t *testing.T) {
	for name, of := range subjects() {
		for sentence, there := range map[string][]client.Object{
			"nothing is there":        nil,
			"an earlier set is there": {cloneSet().fresh(), statefulSet().fresh(), freshRollout("api", setRef()), freshDeployment(newerShop, "", 1), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}},
		} {
			t.Run(name+", "+sentence, func(t *testing.T) {
				c := fake.NewClientBuilder().WithObjects(there...).Build()
				if err := reset(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				var left kruisev1alpha1.CloneSetList
				if err := c.List(t.Context(), &left); err != nil || len(left.Items) != 0 {
					t.Errorf("%d sets are left, error %v", len(left.Items), err)
				}
				if err := c.Create(t.Context(), of.fresh()); err != nil {
					t.Error(err)
				}
				set, err := of.setImage(t.Context(), c, "app:2")
				if err != nil || *of.image(set) != "app:2" || set.GetResourceVersion() == "" {
					t.Errorf("set %v, error %v after the change of the image", set, err)
				}
			})
		}
	}
}

func TestTheManagerIsWaitedFor(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	if err := waitReady(t.Context(), server.URL, nil); err != nil || asked != 3 {
		t.Errorf("error %v after %d questions, want none after 3", err, asked)
	}
	ended := make(chan struct{})
	close(ended)
	asked = -1000
	if err := waitReady(t.Context(), server.URL, ended); err == nil {
		t.Error("a manager that has ended is waited for")
	}
}

func TestUnknownScenario(t *testing.T) {
	err := Run(context.Background(), Options{Scenario: "none"})
	if err == nil || !strings.Contains(err.Error(), "only: application, cells, inplace, rollout, statefulset") {
		t.Errorf("error %v, want one that names the scenarios", err)
	}
}

func TestNarrator(t *testing.T) {
	var out bytes.Buffer
	n := narrator{terminal: live.Terminal{Out: &out}}
	n.begin("A %s", "cluster")
	n.say("")
	if _, err := n.aside().Write([]byte("one\n\ntwo")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("\n1. A cluster\n\n   one\n\n   two", out.String()); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
}
