// SPDX-License-Identifier: Apache-2.0

package rolloutcli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli"
	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/pod"
	rolloutcontroller "slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/outbound"
	"slipway.dev/slipway/internal/rollout/subject"
	"slipway.dev/slipway/test/node"
)

// control runs the controllers of CloneSets and of rollouts for one namespace until the test ends.
func control(t *testing.T, ns string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kruisev1alpha1.AddToScheme, rolloutv1alpha1.AddToScheme} {
		check(add(scheme))
	}
	here := cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}}
	mgr, err := ctrl.NewManager(cluster.Config, ctrl.Options{Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, Cache: here})
	check(err)
	check(owned.AddIndexes(t.Context(), mgr.GetFieldIndexer()))
	sets := cloneset.New(cloneset.Dependencies{
		Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Client: mgr.GetClient(), Events: mgr.GetEventRecorder("slipway"), Clock: clock.RealClock{},
	})
	check(sets.SetupWithManager(mgr, cloneset.Options{}))
	kinds, err := adapter.NewRegistry()
	check(err)
	calls, err := outbound.New(outbound.Options{Clock: clock.RealClock{}})
	check(err)
	rollouts, err := rolloutcontroller.New(subject.Traits{}, rolloutcontroller.Dependencies{
		Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Client: mgr.GetClient(), Events: mgr.GetEventRecorder("slipway"), Clock: clock.RealClock{},
		Kinds: &adapter.Adapters{Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Registry: kinds},
		Errands: rolloutcontroller.Errands{
			Hooks:   errand.NewDesk[hook.Answer](clock.RealClock{}, logr.Discard(), nil),
			Metrics: errand.NewDesk[measure.Sample](clock.RealClock{}, logr.Discard(), calls.Close), Client: calls,
		},
		Registry: prometheus.NewRegistry(),
	})
	check(err)
	check(rollouts.SetupWithManager(mgr, rolloutcontroller.Options{Held: mgr.GetCache()}))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the controllers ended: %v", err)
		}
	})
}

// work does what scheduler and nodes would do next with each pod, and returns the pods as they were.
func work(t *testing.T, ns string) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := live.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName == "" {
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "any"}}
			if err := live.SubResource("binding").Create(t.Context(), &p, binding); err != nil {
				t.Fatalf("binding pod %s: %v", p.Name, err)
			}
			continue
		}
		out := node.Model{}.Next(&p, time.Now())
		if out.Status == nil {
			continue
		}
		patch, err := node.Patch(&p, out.Status)
		if err != nil {
			t.Fatal(err)
		}
		if err := live.Status().Patch(t.Context(), &p, client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
			t.Fatalf("reporting pod %s: %v", p.Name, err)
		}
	}
	return pods.Items
}

// until lets nodes work until something is so, and says what it last saw when that never came. Each is called with the pods.
func until(t *testing.T, ns, what string, seen func([]corev1.Pod) (bool, any)) {
	t.Helper()
	var state any
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (done bool, _ error) {
		done, state = seen(work(t, ns))
		return done, nil
	})
	if err != nil {
		t.Fatalf("waited for %s; last seen: %v", what, state)
	}
}

// foretold is what a plan says of the batches of a rollout.
type foretold struct {
	Ending         string
	LeastAvailable int
	Batches        []struct {
		Goal    int
		Moments []struct {
			Actions []struct{ Object, Verb string }
		}
	}
}

func (f foretold) pods(batch int) []string {
	var names []string
	for _, m := range f.Batches[batch].Moments {
		for _, a := range m.Actions {
			names = append(names, a.Verb+" "+a.Object)
		}
	}
	slices.Sort(names)
	return names
}

func foretell(t *testing.T, manifest string) foretold {
	t.Helper()
	out, err := run(t, "plan", "-f", manifest, "-o", "json")
	if got := cli.ExitStatus(err); got == cli.ExitError {
		t.Fatalf("%v\n%s", err, out)
	}
	var plans struct{ Items []foretold }
	if err := json.Unmarshal([]byte(out), &plans); err != nil {
		t.Fatalf("%v in:\n%s", err, out)
	}
	return plans.Items[0]
}

const manifestOfRollout = `apiVersion: standard.oam.dev/v1alpha1
kind: RolloutTrait
metadata: {name: web, namespace: %s}
spec:
  targetRef: {apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: web}
  rolloutPlan: {rolloutBatches: [{replicas: 1}, {replicas: 50%%}, {}], batchPartition: %d}
`

// What a plan says of a rollout of a CloneSet is what the rollout then does: the same pods in the same batches, and no fewer available.
func TestAPlanOfARolloutIsWhatItDoes(t *testing.T) {
	every, err := client.New(cluster.Config, client.Options{}) // live knows what is shown only
	if err != nil {
		t.Fatal(err)
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "plan-"}}
	if err := every.Create(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	ns := space.Name
	control(t, ns)
	set := sixPods(t, ns)

	path := filepath.Join(t.TempDir(), "rollout.yaml")
	wanted := func(partition int) {
		if err := os.WriteFile(path, fmt.Appendf(nil, manifestOfRollout, ns, partition), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wanted(0)
	before := foretell(t, path)
	if before.Ending != "succeeds" || len(before.Batches) != 3 || before.LeastAvailable != 4 {
		t.Fatalf("foretold is %+v", before)
	}

	r := &rolloutv1alpha1.RolloutTrait{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	r.Spec.TargetRef = rolloutv1alpha1.WorkloadReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web"}
	r.Spec.RolloutPlan.BatchPartition = ptr.To[int32](0)
	r.Spec.RolloutPlan.RolloutBatches = []rolloutv1alpha1.RolloutBatch{
		{Replicas: ptr.To(intstr.FromInt32(1))}, {Replicas: ptr.To(intstr.FromString("50%"))}, {},
	}
	if err := live.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	done, least := map[string]bool{}, 6
	for batch := range before.Batches {
		var now []string
		until(t, ns, fmt.Sprintf("the end of batch %d", batch+1), func(pods []corev1.Pod) (bool, any) {
			least = min(least, availableOf(pods))
			if err := live.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
				t.Fatal(err)
			}
			s := &r.Status
			waits := s.WaitingFor == rolloutv1alpha1.WaitingAtPartition && int(s.CurrentBatch) == batch
			if !waits && s.RollingState != rolloutv1alpha1.RolloutSucceedState {
				return false, s.Message
			}
			now = updatedOf(t, set, pods)
			return true, nil
		})
		var took []string
		for _, name := range now {
			if !done[name] {
				done[name], took = true, append(took, "update in place "+name)
			}
		}
		if diff := cmp.Diff(before.pods(batch), took); diff != "" {
			t.Errorf("pods of batch %d (-foretold +seen):\n%s", batch+1, diff)
		}
		if batch == len(before.Batches)-1 {
			break
		}
		again := foretell(t, path) // half way, it tells the rest as before
		for later := batch + 1; later < len(before.Batches); later++ {
			if diff := cmp.Diff(before.pods(later), again.pods(later)); diff != "" {
				t.Errorf("pods of batch %d, foretold after batch %d (-at first +then):\n%s", later+1, batch+1, diff)
			}
		}
		must(t, "may begin", "rollout", "promote", "web", "-n", ns)
		wanted(batch + 1)
	}
	if least < before.LeastAvailable {
		t.Errorf("%d pods were available at some time, and %d were foretold", least, before.LeastAvailable)
	}
}

// sixPods is a CloneSet whose pods are available, and that has a newer template, and is paused.
func sixPods(t *testing.T, ns string) *kruisev1alpha1.CloneSet {
	t.Helper()
	set := &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	set.Spec.Replicas, set.Spec.Selector = ptr.To[int32](6), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	set.Spec.Template.Labels = map[string]string{"app": "web"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "registry.test/app:v1"}}
	set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
	set.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.FromInt32(2))
	if err := live.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	settled := func([]corev1.Pod) (bool, any) {
		if err := live.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			t.Fatal(err)
		}
		return set.Status.AvailableReplicas == 6 && set.Status.ObservedGeneration == set.Generation, set.Status
	}
	until(t, ns, "six pods", settled)
	change := client.MergeFrom(set.DeepCopy())
	set.Spec.Template.Spec.Containers[0].Image, set.Spec.UpdateStrategy.Paused = "registry.test/app:v2", true
	if err := live.Patch(t.Context(), set, change); err != nil {
		t.Fatal(err)
	}
	until(t, ns, "the newer template to be seen", settled)
	return set
}

func availableOf(pods []corev1.Pod) (n int) {
	for i := range pods {
		if pod.IsActive(&pods[i]) && pod.IsReady(&pods[i]) {
			n++
		}
	}
	return n
}

// updatedOf are the names of the pods that are on the newest revision.
func updatedOf(t *testing.T, set *kruisev1alpha1.CloneSet, pods []corev1.Pod) []string {
	t.Helper()
	var names []string
	for i := range pods {
		if pod.HasRevision(&pods[i], set.Status.UpdateRevision) {
			names = append(names, pods[i].Name)
		}
	}
	slices.Sort(names)
	return names
}
