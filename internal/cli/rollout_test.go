// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/test/builders"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// stored is a rollout of package rollouts' worlds, in shop.
func stored(t *testing.T, world string, change ...func(*rolloutv1alpha1.RolloutTrait)) *rolloutv1alpha1.RolloutTrait {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("rollouts", "testdata", world+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rolloutv1alpha1.RolloutTrait{}
	if err := yaml.UnmarshalStrict(raw, r); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func partition(n int32) func(*rolloutv1alpha1.RolloutTrait) {
	return func(r *rolloutv1alpha1.RolloutTrait) { r.Spec.RolloutPlan.BatchPartition = &n }
}

func said(key, value string) func(*rolloutv1alpha1.RolloutTrait) {
	return func(r *rolloutv1alpha1.RolloutTrait) {
		if r.Annotations == nil {
			r.Annotations = map[string]string{}
		}
		r.Annotations[key] = value
	}
}

func pausedRollout(r *rolloutv1alpha1.RolloutTrait) { r.Spec.RolloutPlan.Paused = true }

// hadNothingToDo has found all pods where they were to be.
func hadNothingToDo(r *rolloutv1alpha1.RolloutTrait) {
	r.Status.Running = &rolloutv1alpha1.RunningRollout{TargetRef: r.Spec.TargetRef}
}

// succeededPair has moved from web-v1 to web-v2.
func succeededPair(r *rolloutv1alpha1.RolloutTrait) {
	r.Status.RollingState, r.Status.BatchRollingState, r.Status.Ending, r.Status.Failure = rolloutv1alpha1.RolloutSucceedState, rolloutv1alpha1.BatchFinalizingState, "", nil
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID(name + "-uid")},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Template: podTemplate("app:" + name)}, Status: appsv1.DeploymentStatus{Replicas: replicas},
	}
}

// shop are the workloads of the worlds: each was on app:1 and is on app:2.
func shop(t *testing.T) []client.Object {
	t.Helper()
	web := builders.CloneSet("web").Replicas(10).Image("app:2").Build()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "shop", UID: "db-uid"},
		Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), Ordinals: &appsv1.StatefulSetOrdinals{Start: 5}, Template: podTemplate("app:2")}}
	daemons := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "shop", UID: "agent-uid"},
		Spec: appsv1.DaemonSetSpec{Template: podTemplate("app:2")}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 4}}
	web.Namespace = "shop"
	earlier := web.Spec.Template.DeepCopy()
	earlier.Spec.Containers[0].Image = "app:1"
	old := ptr.To(podTemplate("app:1"))
	return []client.Object{web, set, daemons, deployment("web-v1", 10), deployment("web-v2", 0), deployment("web", 3),
		controllerRevision(t, web, 1, earlier), controllerRevision(t, web, 2, &web.Spec.Template),
		controllerRevision(t, set, 1, old), controllerRevision(t, set, 2, &set.Spec.Template),
		controllerRevision(t, daemons, 1, old), controllerRevision(t, daemons, 2, &daemons.Spec.Template)}
}

// newRolloutRun is a cluster with one rollout and the workloads of the shop.
func newRolloutRun(t *testing.T, r ...client.Object) *run {
	t.Helper()
	run := newRun(t, append(shop(t), r...)...)
	run.clock = clocktesting.NewFakeClock(epoch)
	return run
}

// inState sets the target of a stored rollout and has it succeeded or failed there.
func ofKind(apiVersion, kind, name string) func(*rolloutv1alpha1.RolloutTrait) {
	return func(r *rolloutv1alpha1.RolloutTrait) {
		ref := rolloutv1alpha1.WorkloadReference{APIVersion: apiVersion, Kind: kind, Name: name}
		r.Spec.TargetRef, r.Status.Running.TargetRef = ref, ref
	}
}

type rolloutEditCase struct {
	world  string
	change []func(*rolloutv1alpha1.RolloutTrait)
	args   []string
	out    string
	// after is what one field must be afterwards.
	field func(*rolloutv1alpha1.RolloutTrait) any
	after string
}

func annotation(key string) func(*rolloutv1alpha1.RolloutTrait) any {
	return func(r *rolloutv1alpha1.RolloutTrait) any { return r.Annotations[key] }
}

func TestRolloutEdits(t *testing.T) {
	plan := func(r *rolloutv1alpha1.RolloutTrait) any {
		return fmt.Sprint(r.Spec.RolloutPlan.Paused, ptr.Deref(r.Spec.RolloutPlan.BatchPartition, -1), ptr.Deref(r.Spec.RolloutPlan.TargetSize, -1))
	}
	refs := func(r *rolloutv1alpha1.RolloutTrait) any {
		return r.Spec.TargetRef.Name + " from " + r.Spec.SourceRef[0].Name
	}
	type change = []func(*rolloutv1alpha1.RolloutTrait)
	for sentence, test := range map[string]rolloutEditCase{
		"a pause": {"batch-verifying-pods", nil, []string{"pause"}, "spec.rolloutPlan.paused is true: nothing new begins, and what is on its way ends", plan, "true -1 -1"},
		"a dry run of one changes nothing": {"batch-verifying-pods", nil, []string{"pause", "--dry-run"},
			"spec.rolloutPlan.paused is true: nothing new begins, and what is on its way ends (dry run: nothing was changed)", plan, "false -1 -1"},
		"the end of a pause":     {"paused", nil, []string{"resume"}, "spec.rolloutPlan.paused is false: the release goes on", plan, "false -1 -1"},
		"exactly the next batch": {"at-the-partition", nil, []string{"promote"}, "spec.rolloutPlan.batchPartition is 2: batch 3 of 4 may begin", plan, "false 2 -1"},
		"the next batch, from a partition that was passed before it stood there": {"at-the-partition", change{partition(0)}, []string{"promote"},
			"spec.rolloutPlan.batchPartition is 2: batch 3 of 4 may begin", plan, "false 2 -1"},
		"the next batch of a paused rollout": {"at-the-partition", change{pausedRollout}, []string{"promote"},
			"spec.rolloutPlan.batchPartition is 2: batch 3 of 4 may begin, once `slipway rollout resume web` has ended the pause", plan, "true 2 -1"},
		"all batches":            {"at-the-partition", nil, []string{"promote", "--full"}, "spec.rolloutPlan.batchPartition is gone: all batches follow", plan, "false -1 -1"},
		"all batches in advance": {"batch-verifying-pods", change{partition(1)}, []string{"promote", "--full"}, "spec.rolloutPlan.batchPartition is gone: all batches follow", plan, "false -1 -1"},
		"an approval names its step, a webhook": {"batch-initializing", nil, []string{"approve"},
			"the webhooks and metrics of this step pass: batchInitializing of batch 2 of 4", annotation(rolloutv1alpha1.AnnotationApprove), "1.0/1/batchInitializing"},
		"an approval names its step, a metric": {"batch-verifying-metrics", change{said(rolloutv1alpha1.AnnotationApprove, "1.0/0/batchVerifying")}, []string{"approve"},
			"the webhooks and metrics of this step pass: batchVerifying of batch 2 of 4", annotation(rolloutv1alpha1.AnnotationApprove), "1.0/1/batchVerifying"},
		"an approval outside of batches": {"finalising", nil, []string{"approve"},
			"the webhooks and metrics of this step pass: finalising", annotation(rolloutv1alpha1.AnnotationApprove), "1.0/finalising"},
		"a failure that waits is taken up": {"batch-verify-failed", nil, []string{"retry"}, "is taken up again at batchVerifyFailed of batch 2 of 4", annotation(rolloutv1alpha1.AnnotationRetry), "1.1"},
		"one that has ended begins anew":   {"failed", nil, []string{"retry"}, "begins anew, from what is there", annotation(rolloutv1alpha1.AnnotationRetry), "2.0"},
		"an abort":                         {"batch-verifying-pods", nil, []string{"abort"}, "ends, and leaves the pods as they are", annotation(rolloutv1alpha1.AnnotationAbort), "1.0"},
		"a revert takes the place of an abort that nobody has seen": {"batch-verifying-pods", change{said(rolloutv1alpha1.AnnotationAbort, "1.0")}, []string{"abort", "--revert"},
			"ends, and brings back what was before, in the same batches in reverse", func(r *rolloutv1alpha1.RolloutTrait) any {
				return r.Annotations[rolloutv1alpha1.AnnotationRevert] + " " + r.Annotations[rolloutv1alpha1.AnnotationAbort]
			}, "1.0 "},
		"an abort in a pause":  {"paused", nil, []string{"abort", "--revert"}, "ends, and brings back what was before, in the same batches in reverse", annotation(rolloutv1alpha1.AnnotationRevert), "1.0"},
		"an abort of a revert": {"reverting", nil, []string{"abort"}, "goes back no further, and leaves the pods as they are", annotation(rolloutv1alpha1.AnnotationAbort), "1.0"},
		"undo of two workloads": {"failing", change{succeededPair}, []string{"undo"},
			"goes back from Deployment web-v2 to Deployment web-v1: it begins anew", refs, "web-v1 from web-v2"},
		"undo of two workloads, with a partition": {"failing", change{succeededPair, partition(0)}, []string{"undo"},
			"goes back from Deployment web-v2 to Deployment web-v1: it begins anew, and waits after batch 1 (batchPartition 0)", refs, "web-v1 from web-v2"},
		"undo of a scale": {"scale-up", change{succeededPair}, []string{"undo"}, "spec.rolloutPlan.targetSize is 3 again, the size of before: it begins anew", plan, "false -1 3"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRolloutRun(t, stored(t, test.world, test.change...))
			args := append([]string{"rollout", test.args[0], "web", "-n", "shop"}, test.args[1:]...)
			if err := r.execute(t.Context(), t, args...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("RolloutTrait shop/web: "+test.out+"\n", r.out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			after := &rolloutv1alpha1.RolloutTrait{}
			if err := r.client.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, after); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(test.field(after)); got != test.after {
				t.Errorf("afterwards it is %q, want %q", got, test.after)
			}
		})
	}
}

func leaves(r *rolloutv1alpha1.RolloutTrait) { r.Status.Ending = rolloutv1alpha1.LeaveEnding }

func TestRolloutEditsAreRefused(t *testing.T) {
	const key = rolloutv1alpha1.AnnotationRetry
	type change = []func(*rolloutv1alpha1.RolloutTrait)
	for sentence, test := range map[string]struct {
		world  string
		change change
		args   []string
		want   string
	}{
		"a pause after the end":                      {"succeeded", nil, []string{"pause"}, "it has ended, and there is nothing to pause; it stands at: shop/web rolloutSucceed"},
		"a promotion that nobody waits for":          {"batch-verifying-pods", nil, []string{"promote"}, "no batch is held back: spec.rolloutPlan.batchPartition is not set"},
		"a promotion of a batch that may begin":      {"at-the-partition", change{partition(2)}, []string{"promote"}, "batchPartition 2 lets batch 3 begin without asking"},
		"a promotion before the batch is done":       {"batch-verifying-pods", change{partition(1)}, []string{"promote"}, "batch 2 is not done; --full says in advance"},
		"a promotion before the first batch":         {"initializing", change{partition(0)}, []string{"promote"}, "the first one has not begun"},
		"a promotion after the last batch":           {"finalising", change{partition(3)}, []string{"promote"}, "the first one has not begun"},
		"a promotion after the end":                  {"succeeded", change{partition(0)}, []string{"promote", "--full"}, "it has no batch that could begin"},
		"an approval that nobody waits for":          {"batch-verifying-pods", nil, []string{"approve"}, "it waits neither for a webhook nor for a metric"},
		"an approval of what was rejected":           {"batch-verify-failed", nil, []string{"approve"}, "it has been rejected already; `slipway rollout retry web` asks again"},
		"a second approval":                          {"finalising", change{said(rolloutv1alpha1.AnnotationApprove, "1.0/finalising")}, []string{"approve"}, "that was said already"},
		"a retry without a failure":                  {"batch-verifying-pods", nil, []string{"retry"}, "it has not failed"},
		"a retry while it lets go":                   {"failing", nil, []string{"retry"}, "it lets go of its workloads first"},
		"a retry of one that is deleted":             {"deleting", nil, []string{"retry"}, "it is being deleted"},
		"a second retry":                             {"failed", change{said(key, "2.0")}, []string{"retry"}, "that was said already"},
		"an abort after the end":                     {"succeeded", nil, []string{"abort"}, "it has ended already; `slipway rollout undo web` goes back"},
		"an abort while it lets go":                  {"reverting", change{leaves}, []string{"abort"}, "it is ending already"},
		"a revert while it reverts":                  {"reverting", nil, []string{"abort", "--revert"}, "it is ending already"},
		"an abort before it has begun":               {"unseen", nil, []string{"abort"}, "it has not begun; delete it instead"},
		"undo while it is on its way":                {"batch-verifying-pods", nil, []string{"undo"}, "it has not ended; `slipway rollout abort web --revert` goes back now"},
		"undo of a spec that nobody has looked at":   {"newer-spec", nil, []string{"undo"}, "the controller has not looked at the newest spec yet"},
		"undo of what was never begun":               {"unseen", nil, []string{"undo"}, "the controller has not looked at the newest spec yet"},
		"undo of nothing":                            {"impossible", nil, []string{"undo"}, "it has moved nothing"},
		"undo of what had nothing to do":             {"succeeded", change{hadNothingToDo}, []string{"undo"}, "it has moved nothing"},
		"undo of what was reverted":                  {"reverted", nil, []string{"undo"}, "what was before is back already"},
		"undo of two workloads to a revision":        {"failing", change{succeededPair}, []string{"undo", "--to-revision", "3"}, "--to-revision is for workloads that hold two versions"},
		"undo of a workload that is gone":            {"succeeded", change{ofKind("apps.kruise.io/v1alpha1", "CloneSet", "lost")}, []string{"undo"}, "CloneSet lost is gone"},
		"undo of a kind that only the manager knows": {"succeeded", change{ofKind("example.com/v1", "Widget", "w")}, []string{"undo"}, "where a Widget keeps its template is not known here"},
		"undo of what is to be tried again":          {"failed", change{said(key, "2.0")}, []string{"undo"}, "it is to begin anew already"},
		"undo to a revision that is not there":       {"succeeded", nil, []string{"undo", "--to-revision", "9"}, "CloneSet shop/web has no revision 9, only: 2 (app:2), 1 (app:1)"},
		"a negative revision":                        {"succeeded", nil, []string{"undo", "--to-revision", "-1"}, "cannot be negative"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRolloutRun(t, stored(t, test.world, test.change...))
			before := resourceVersions(t, r)
			err := r.execute(t.Context(), t, append([]string{"rollout", test.args[0], "web", "-n", "shop"}, test.args[1:]...)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if r.out.String() != "" {
				t.Errorf("output %q of a refusal", r.out.String())
			}
			if diff := cmp.Diff(before, resourceVersions(t, r)); diff != "" {
				t.Errorf("a refusal has written (-before +after):\n%s", diff)
			}
		})
	}
	t.Run("one that is not there", func(t *testing.T) {
		err := newRolloutRun(t).execute(t.Context(), t, "rollout", "pause", "lost")
		if want := "no rollout \"lost\" in namespace \"default\"; `slipway get rollout -A` lists"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	})
}

func resourceVersions(t *testing.T, r *run) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, list := range []client.ObjectList{&rolloutv1alpha1.RolloutTraitList{}, &kruisev1alpha1.CloneSetList{}} {
		if err := r.client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		versions[fmt.Sprintf("%T", list)] = fmt.Sprint(list.GetResourceVersion())
		switch l := list.(type) {
		case *rolloutv1alpha1.RolloutTraitList:
			for i := range l.Items {
				versions["rollout "+l.Items[i].Name] = l.Items[i].ResourceVersion
			}
		case *kruisev1alpha1.CloneSetList:
			for i := range l.Items {
				versions["set "+l.Items[i].Name] = l.Items[i].ResourceVersion
			}
		}
	}
	return versions
}

func TestUndoGivesAWorkloadItsEarlierTemplateAndHoldsIt(t *testing.T) {
	image := func(template corev1.PodTemplateSpec) string { return template.Spec.Containers[0].Image }
	for sentence, test := range map[string]struct {
		change  []func(*rolloutv1alpha1.RolloutTrait)
		world   string
		out     []string
		object  client.Object
		held    func(client.Object) string
		want    string
		retries string
	}{
		"after a success it waits for the next rollout": {nil, "succeeded", []string{
			"CloneSet shop/web: spec.template is that of revision 1 (web-1) again: image of app app:2 -> app:1; no pod moves yet: spec.updateStrategy.paused is true",
			"RolloutTrait shop/web: a rollout works once: `slipway rollout create web-back --like web -n shop` takes the pods to it"},
			&kruisev1alpha1.CloneSet{}, func(o client.Object) string {
				set := o.(*kruisev1alpha1.CloneSet)
				return fmt.Sprint(image(set.Spec.Template), " ", set.Spec.UpdateStrategy.Paused)
			}, "app:1 true", ""},
		"after a failure the rollout takes it": {nil, "failed", []string{
			"CloneSet shop/web: spec.template is that of revision 1 (web-1) again: image of app app:2 -> app:1; no pod moves yet: spec.updateStrategy.paused is true",
			"RolloutTrait shop/web: begins anew, and takes the pods to it"},
			&kruisev1alpha1.CloneSet{}, func(o client.Object) string { return image(o.(*kruisev1alpha1.CloneSet).Spec.Template) }, "app:1", "2.0"},
		"a StatefulSet is held by its partition, from its first ordinal on": {[]func(*rolloutv1alpha1.RolloutTrait){ofKind("apps/v1", "StatefulSet", "db")}, "succeeded", []string{
			"StatefulSet shop/db: spec.template is that of revision 1 (db-1) again: image of app app:2 -> app:1; no pod moves yet: spec.updateStrategy.rollingUpdate.partition is 8",
			"RolloutTrait shop/web: a rollout works once: `slipway rollout create web-back --like web -n shop` takes the pods to it"},
			&appsv1.StatefulSet{}, func(o client.Object) string {
				set := o.(*appsv1.StatefulSet)
				return fmt.Sprint(image(set.Spec.Template), " ", *set.Spec.UpdateStrategy.RollingUpdate.Partition)
			}, "app:1 8", ""},
		"a DaemonSet by OnDelete": {[]func(*rolloutv1alpha1.RolloutTrait){ofKind("apps/v1", "DaemonSet", "agent")}, "failed", []string{
			"DaemonSet shop/agent: spec.template is that of revision 1 (agent-1) again: image of app app:2 -> app:1; no pod moves yet: spec.updateStrategy.type is OnDelete",
			"RolloutTrait shop/web: begins anew, and takes the pods to it"},
			&appsv1.DaemonSet{}, func(o client.Object) string {
				set := o.(*appsv1.DaemonSet)
				return fmt.Sprint(image(set.Spec.Template), " ", set.Spec.UpdateStrategy.Type)
			}, "app:1 OnDelete", "2.0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			rollout := stored(t, test.world, test.change...)
			r := newRolloutRun(t, rollout)
			if err := r.execute(t.Context(), t, "rollout", "undo", "web", "-n", "shop"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(test.out, "\n")+"\n", r.out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if err := r.client.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: rollout.Spec.TargetRef.Name}, test.object); err != nil {
				t.Fatal(err)
			}
			if got := test.held(test.object); got != test.want {
				t.Errorf("the workload has %q, want %q", got, test.want)
			}
			if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(rollout), rollout); err != nil {
				t.Fatal(err)
			}
			if got := rollout.Annotations[rolloutv1alpha1.AnnotationRetry]; got != test.retries {
				t.Errorf("retried %q, want %q", got, test.retries)
			}
		})
	}
}

func TestASecondUndoDoesNotGoForward(t *testing.T) {
	r := newRolloutRun(t, stored(t, "succeeded"))
	if err := r.execute(t.Context(), t, "rollout", "undo", "web", "-n", "shop"); err != nil {
		t.Fatal(err)
	}
	err := r.execute(t.Context(), t, "rollout", "undo", "web", "-n", "shop")
	if want := "CloneSet web is held already, as an undo leaves it"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

// What the commands write is what the engine listens to.
func TestTheEngineTakesUpWhatIsSaid(t *testing.T) {
	for sentence, test := range map[string]struct {
		world  string
		change func(*rolloutv1alpha1.RolloutTrait)
		args   []string
		want   engine.State
	}{
		"an abort ends it":                        {"paused", nil, []string{"abort"}, engine.Failing},
		"a revert too":                            {"batch-verify-failed", nil, []string{"abort", "--revert"}, engine.Failing},
		"a retry goes on with the batch":          {"batch-verify-failed", nil, []string{"retry"}, engine.BatchInRolling},
		"a retry begins anew":                     {"failed", nil, []string{"retry"}, engine.Locating},
		"an approval passes a webhook":            {"batch-finalizing", nil, []string{"approve"}, engine.BatchVerifying},
		"an approval passes a metric":             {"batch-verifying-metrics", nil, []string{"approve"}, engine.BatchVerifying},
		"a promotion begins a batch":              {"at-the-partition", nil, []string{"promote"}, engine.BatchVerifying},
		"without a word nothing goes on":          {"at-the-partition", nil, nil, engine.BatchReady},
		"undo of two workloads begins anew":       {"failing", succeededPair, []string{"undo"}, engine.Locating},
		"undo of a scale begins anew":             {"scale-up", succeededPair, []string{"undo"}, engine.Locating},
		"without undo what has ended stays ended": {"failing", succeededPair, nil, engine.Succeeded},
	} {
		t.Run(sentence, func(t *testing.T) {
			rollout := stored(t, test.world)
			if test.change != nil {
				test.change(rollout)
			}
			r := newRolloutRun(t, rollout)
			if test.args != nil {
				if err := r.execute(t.Context(), t, append([]string{"rollout", test.args[0], "web", "-n", "shop"}, test.args[1:]...)...); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(rollout), rollout); err != nil {
				t.Fatal(err)
			}
			begun := rollout.Status.CurrentBatch
			goal := engine.Goals(rollout.Status.Running.RolloutBatches, 10)[min(int(begun)+1, len(rollout.Status.Running.RolloutBatches)-1)]
			held := engine.Workload{Found: true, Held: true, Versions: true, Differs: true, Seen: true, Replicas: 10, Pods: 10, Ready: 10, Available: 10,
				Asked: goal, Updated: int(rollout.Status.UpgradedReplicas), UpdatedAvailable: int(rollout.Status.UpgradedReadyReplicas)}
			w := engine.World{Rollout: engine.Rollout{Namespace: "shop", Name: "web", UID: rollout.UID, Generation: rollout.Generation, Finalizer: true,
				Target: rollout.Spec.TargetRef, Plan: rollout.Spec.RolloutPlan, Annotations: rollout.Annotations, Status: rollout.Status}, Target: held}
			if len(rollout.Spec.SourceRef) > 0 {
				w.Rollout.Source, w.Source = &rollout.Spec.SourceRef[0], &held
			}
			next := engine.Next(w, epoch).Status
			if got := engine.StateOf(&next); got != test.want {
				t.Errorf("the engine goes on to %s (%s), want %s", got, next.Message, test.want)
			}
		})
	}
}

func byApp() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "App", Name: "shop", UID: "app-uid", Controller: ptr.To(true)}}
}
