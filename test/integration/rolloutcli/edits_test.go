// SPDX-License-Identifier: Apache-2.0

package rolloutcli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli"
	"slipway.dev/slipway/test/integration/plane"
)

var (
	cluster *plane.Plane
	live    client.WithWatch
)

func TestMain(m *testing.M) {
	os.Exit(plane.RunWithStore(m, func(p *plane.Plane) {
		cluster = p
		c, err := cli.NewClient(p.Config)
		if err != nil {
			panic(fmt.Sprintf("making a client: %v", err))
		}
		live = c
	}))
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(`{"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root := cli.New(cli.Environment{
		Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out},
		Getenv:  func(string) string { return "" }, Clock: clock.RealClock{}, Version: "test", Program: "slipway",
		Connect:      func(*genericclioptions.ConfigFlags, string) (client.WithWatch, error) { return live, nil },
		OffersResize: func(*genericclioptions.ConfigFlags, string) (bool, error) { return true, nil },
	})
	root.SetArgs(append([]string{"--kubeconfig", config}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func must(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := run(t, args...)
	if err != nil {
		t.Fatalf("slipway %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if !strings.Contains(out, want) {
		t.Errorf("slipway %s says %q, want %q in it", strings.Join(args, " "), out, want)
	}
}

func rollout(t *testing.T, name string) *rolloutv1alpha1.RolloutTrait {
	t.Helper()
	r := &rolloutv1alpha1.RolloutTrait{}
	if err := live.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// report writes a status as the controller would.
func report(t *testing.T, name string, change func(*rolloutv1alpha1.RolloutStatus)) {
	t.Helper()
	r := rollout(t, name)
	r.Status.ObservedGeneration = r.Generation
	change(&r.Status)
	if err := live.Status().Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func deployment(t *testing.T, name string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.test/app:v1"}}}},
	}}
	if err := live.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func TestARolloutOfTwoDeploymentsFromItsBeginningToItsUndo(t *testing.T) {
	deployment(t, "web-v1", 10)
	deployment(t, "web-v2", 0)
	create := []string{"rollout", "create", "web", "--target", "deployment/web-v2", "--source", "deployment/web-v1", "--batches", "10%,50%,100%", "--partition", "0"}
	must(t, "would be created", append(create, "--dry-run", "server")...)
	if _, err := run(t, "rollout", "get", "web"); err == nil {
		t.Fatal("a dry run has written")
	}
	must(t, "5 of 10", create...)
	if _, err := run(t, create...); err == nil || !strings.Contains(err.Error(), "RolloutTrait default/web is there already") {
		t.Errorf("a second one: %v", err)
	}

	report(t, "web", func(s *rolloutv1alpha1.RolloutStatus) {
		r := rollout(t, "web")
		s.RollingState, s.BatchRollingState, s.WaitingFor, s.Run = rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchReadyState, rolloutv1alpha1.WaitingAtPartition, 1
		s.RolloutOriginalSize, s.RolloutTargetSize, s.UpgradedReplicas, s.UpgradedReadyReplicas = 10, 10, 1, 1
		s.Running = &rolloutv1alpha1.RunningRollout{Mode: rolloutv1alpha1.TwoObjectsMode, TargetRef: r.Spec.TargetRef, SourceRef: &r.Spec.SourceRef[0], Total: 10}
		for _, b := range r.Spec.RolloutPlan.RolloutBatches {
			s.Running.RolloutBatches = append(s.Running.RolloutBatches, rolloutv1alpha1.RunningBatch{Replicas: b.Replicas})
		}
	})
	must(t, "promote web", "rollout", "get", "web")
	if out, err := run(t, "rollout", "status", "web"); cli.ExitStatus(err) != cli.ExitGoesOn {
		t.Errorf("status %q, %v", out, err)
	}
	must(t, "nothing was changed", "rollout", "promote", "web", "--dry-run")
	must(t, "batch 2 of 3 may begin", "rollout", "promote", "web")
	if _, err := run(t, "rollout", "promote", "web"); err == nil || !strings.Contains(err.Error(), "lets batch 2 begin without asking") {
		t.Errorf("a second promotion at once: %v", err)
	}
	must(t, "is true", "rollout", "pause", "web")
	must(t, "is false", "rollout", "resume", "web")
	must(t, "all batches follow", "rollout", "promote", "web", "--full")
	if p := rollout(t, "web").Spec.RolloutPlan; p.BatchPartition != nil || p.Paused {
		t.Errorf("the plan is now %+v", p)
	}

	report(t, "web", func(s *rolloutv1alpha1.RolloutStatus) { s.WaitingFor = rolloutv1alpha1.WaitingForWebhook })
	must(t, "pass", "rollout", "approve", "web")
	must(t, "brings back", "rollout", "abort", "web", "--revert")
	want := map[string]string{rolloutv1alpha1.AnnotationApprove: "1.0/0/batchReady", rolloutv1alpha1.AnnotationRevert: "1.0"}
	for key, value := range want {
		if got := rollout(t, "web").Annotations[key]; got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}

	report(t, "web", func(s *rolloutv1alpha1.RolloutStatus) {
		s.RollingState, s.WaitingFor = rolloutv1alpha1.RolloutSucceedState, ""
	})
	must(t, "goes back from Deployment web-v2 to Deployment web-v1", "rollout", "undo", "web")
	if r := rollout(t, "web"); r.Spec.TargetRef.Name != "web-v1" || r.Spec.SourceRef[0].Name != "web-v2" {
		t.Errorf("afterwards it goes from %v to %v", r.Spec.SourceRef, r.Spec.TargetRef)
	}
	must(t, "Created", "rollout", "history", "web")
}

func TestTheServerRefusesWhatTheFlagsCannotKnow(t *testing.T) {
	out, err := run(t, "rollout", "create", "Not_A_Name", "--target", "deployment/web", "--target-size", "3")
	if err == nil || !strings.Contains(err.Error(), "metadata.name") {
		t.Errorf("error %v\n%s", err, out)
	}
}

func TestUndoOfAStatefulSetPassesTheServersRules(t *testing.T) {
	labels := map[string]string{"app": "db"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.test/app:v2"}}}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "default"},
		Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}
	if err := live.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	storeRevision(t.Context(), t, set, 1, "registry.test/app:v1")
	must(t, "StatefulSet db", "rollout", "create", "db", "--target", "statefulset.apps/db", "--num-batches", "3")
	report(t, "db", func(s *rolloutv1alpha1.RolloutStatus) {
		s.RollingState, s.Run, s.Ending = rolloutv1alpha1.RolloutFailedState, 1, rolloutv1alpha1.LeaveEnding
		s.Running = &rolloutv1alpha1.RunningRollout{Mode: rolloutv1alpha1.InPlaceMode, TargetRef: rollout(t, "db").Spec.TargetRef, Total: 3,
			RolloutBatches: []rolloutv1alpha1.RunningBatch{{}}}
	})
	must(t, "nothing was changed", "rollout", "undo", "db", "--dry-run")
	must(t, "no pod moves yet: spec.updateStrategy.rollingUpdate.partition is 3", "rollout", "undo", "db")
	if err := live.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatal(err)
	}
	if got := set.Spec.Template.Spec.Containers[0].Image; got != "registry.test/app:v1" {
		t.Errorf("the image is %s", got)
	}
	if got := rollout(t, "db").Annotations[rolloutv1alpha1.AnnotationRetry]; got != "1.0" {
		t.Errorf("it is retried at %q, want 1.0", got)
	}
}

// storeRevision stores a revision as the controller of the StatefulSet would: with another image.
func storeRevision(ctx context.Context, t *testing.T, set *appsv1.StatefulSet, number int64, image string) {
	t.Helper()
	template := set.Spec.Template.DeepCopy()
	template.Spec.Containers[0].Image = image
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		t.Fatal(err)
	}
	raw["$patch"] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": raw}})
	if err != nil {
		t.Fatal(err)
	}
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", set.Name, number), Namespace: set.Namespace,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: ptr.To(true)}}},
		Revision: number, Data: runtime.RawExtension{Raw: data},
	}
	if err := live.Create(ctx, revision); err != nil {
		t.Fatal(err)
	}
}
