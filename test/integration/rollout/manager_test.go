// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/outbound"
	"slipway.dev/slipway/internal/rollout/subject"
)

// patience is for what a machine that nobody else works on does in half a minute.
const patience = 10 * time.Minute

// newNamespace makes a namespace for one test.
func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "rollouts-"}}
	if err := live.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// newManager makes a manager for one namespace. Several may live in one process, as one after the other does here.
func newManager(t *testing.T, ns string) ctrl.Manager {
	t.Helper()
	mgr, err := ctrl.NewManager(server, ctrl.Options{
		Scheme: live.Scheme(), Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// run runs a manager until it is stopped, at the end of the test at the latest. To stop it twice does nothing.
func run(t *testing.T, mgr ctrl.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- mgr.Start(ctx)
		close(ended)
	}()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("a manager ended: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// manage runs the controller of rollouts as the manager does, with two workers. It writes through what is returned by through.
func manage(t *testing.T, ns string, through func(client.Client) client.Client) (stop func()) {
	t.Helper()
	mgr := newManager(t, ns)
	held, err := cache.New(server, cache.Options{
		Scheme: live.Scheme(), DefaultNamespaces: map[string]cache.Config{ns: {}},
		DefaultLabelSelector: labels.SelectorFromSet(labels.Set{rolloutv1alpha1.LabelHeld: "true"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(held); err != nil {
		t.Fatal(err)
	}
	calls, err := outbound.New(outbound.Options{Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := adapter.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	r, err := rollout.New(subject.Traits{}, rollout.Dependencies{
		Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Client: through(mgr.GetClient()), Events: mgr.GetEventRecorder("slipway"), Clock: clock.RealClock{},
		Kinds: &adapter.Adapters{Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Registry: kinds},
		Errands: rollout.Errands{
			Hooks:   errand.NewDesk[hook.Answer](clock.RealClock{}, logr.Discard(), nil),
			Metrics: errand.NewDesk[measure.Sample](clock.RealClock{}, logr.Discard(), calls.Close),
			Client:  calls,
		},
		Registry: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetupWithManager(mgr, rollout.Options{Concurrency: 2, Held: held}); err != nil {
		t.Fatal(err)
	}
	return run(t, mgr)
}

// plain leaves a client as it is.
func plain(c client.Client) client.Client { return c }

// deploy plays the controller of Deployments: all pods that are asked for are there at once.
func deploy(t *testing.T, ns string) {
	t.Helper()
	mgr := newManager(t, ns)
	err := ctrl.NewControllerManagedBy(mgr).Named("deployment").For(&appsv1.Deployment{}).Complete(reconcile.Func(
		func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			d := &appsv1.Deployment{}
			if err := mgr.GetClient().Get(ctx, request.NamespacedName, d); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			before, n := d.DeepCopy(), *d.Spec.Replicas
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: n}
			return reconcile.Result{}, client.IgnoreNotFound(mgr.GetClient().Status().Patch(ctx, d, client.MergeFrom(before)))
		}))
	if err != nil {
		t.Fatal(err)
	}
	run(t, mgr)
}

// begin makes a Deployment of one pod and a rollout that adds another one, with webhooks.
func begin(t *testing.T, ns, name string, hooks ...rolloutv1alpha1.RolloutWebhook) {
	t.Helper()
	app := map[string]string{"app": name}
	workload := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.test/app:v1"}}},
			},
		},
	}
	trait := &rolloutv1alpha1.RolloutTrait{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: rolloutv1alpha1.RolloutTraitSpec{
			TargetRef:   rolloutv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			RolloutPlan: rolloutv1alpha1.RolloutPlan{TargetSize: ptr.To[int32](2), RolloutWebhooks: hooks},
		},
	}
	for _, o := range []client.Object{workload, trait} {
		if err := live.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// until waits for a state of all rollouts, in which reach finds nothing that is missing.
func until(t *testing.T, ns, what string, missing func(map[string]rolloutv1alpha1.RolloutStatus) string) {
	t.Helper()
	last := "nothing"
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		var list rolloutv1alpha1.RolloutTraitList
		if err := live.List(ctx, &list, client.InNamespace(ns)); err != nil {
			return false, err
		}
		statuses := map[string]rolloutv1alpha1.RolloutStatus{}
		for i := range list.Items {
			statuses[list.Items[i].Name] = list.Items[i].Status
		}
		last = missing(statuses)
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v; last seen: %s", what, err, last)
	}
}
