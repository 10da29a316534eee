// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/subject"
)

// desk is a reconciler over a fake API server.
type desk struct {
	*Reconciler
	server client.Client
	clock  *testclock.FakeClock
}

func newDesk(t *testing.T, plan func(engine.World, time.Time) engine.Plan, objects ...client.Object) *desk {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{rolloutv1alpha1.AddToScheme, appsv1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&rolloutv1alpha1.RolloutTrait{}).Build()
	registry, err := adapter.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(subject.Traits{}, Dependencies{
		Cache: c, Live: c, Client: c, Events: events.NewFakeRecorder(100), Clock: clock, Plan: plan, Registry: prometheus.NewRegistry(),
		Kinds: &adapter.Adapters{Live: c, Mapper: c.RESTMapper(), Registry: registry},
		Errands: Errands{
			Hooks: errand.NewDesk[hook.Answer](clock, logr.Discard(), nil), Metrics: errand.NewDesk[measure.Sample](clock, logr.Discard(), nil),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &desk{Reconciler: r, server: c, clock: clock}
}

func (d *desk) look(t *testing.T) ctrl.Result {
	t.Helper()
	result, err := d.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "release"}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// leaving is a rollout that is deleted and has nothing to let go of.
func leaving(uid types.UID) *rolloutv1alpha1.RolloutTrait {
	return &rolloutv1alpha1.RolloutTrait{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "release", UID: uid, Finalizers: []string{rolloutv1alpha1.FinalizerRollout},
			DeletionTimestamp: ptr.To(metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))),
		},
		Spec: rolloutv1alpha1.RolloutTraitSpec{TargetRef: rolloutv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
		Status: rolloutv1alpha1.RolloutStatus{
			RollingState: rolloutv1alpha1.RolloutDeletingState, ObservedGeneration: 1, Ending: rolloutv1alpha1.LeaveEnding, Run: 1,
		},
	}
}

// A manager lives long, and rollouts come and go.
func TestNothingIsRememberedOfARolloutThatIsGone(t *testing.T) {
	for sentence, comes := range map[string]client.Object{
		"it is gone": nil, "a namesake has taken its place": &rolloutv1alpha1.RolloutTrait{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "release", UID: "second"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := newDesk(t, nil, leaving("first"))
			for there := true; there; { // the last write takes the finalizer off
				d.look(t)
				err := d.server.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "release"}, &rolloutv1alpha1.RolloutTrait{})
				there = err == nil
				if client.IgnoreNotFound(err) != nil {
					t.Fatal(err)
				}
			}
			unseen := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", ResourceVersion: "1"}}
			d.Writes.Wrote("first", unseen)
			if comes != nil {
				if err := d.server.Create(t.Context(), comes); err != nil {
					t.Fatal(err)
				}
			}
			d.look(t)
			if _, waits := d.Writes.Unseen(t.Context(), "first"); waits {
				t.Error("the note of what it wrote is still there")
			}
		})
	}
}
