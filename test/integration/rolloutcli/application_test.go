// SPDX-License-Identifier: Apache-2.0

package rolloutcli

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli"
)

func application(t *testing.T, name string, change func(*oamv1beta1.Application)) *oamv1beta1.Application {
	t.Helper()
	app := &oamv1beta1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	app.Spec.Components = []oamv1beta1.ApplicationComponent{{Name: "cart", Type: "cloneset", Properties: &runtime.RawExtension{Raw: []byte(`{"image":"registry.test/app:v1"}`)}}}
	change(app)
	if err := live.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	return app
}

func ofApp(t *testing.T, name string) *oamv1beta1.AppRollout {
	t.Helper()
	r := &oamv1beta1.AppRollout{}
	if err := live.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// reportApp writes a status as the controller would.
func reportApp(t *testing.T, name string, change func(*oamv1beta1.AppRolloutStatus)) {
	t.Helper()
	r := ofApp(t, name)
	r.Status.ObservedGeneration = r.Generation
	change(&r.Status)
	if err := live.Status().Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func afterOneBatch(s *oamv1beta1.AppRolloutStatus) {
	s.RollingState, s.BatchRollingState, s.WaitingFor, s.Run = rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchReadyState, rolloutv1alpha1.WaitingAtPartition, 1
	s.RolloutOriginalSize, s.RolloutTargetSize, s.UpgradedReplicas, s.UpgradedReadyReplicas, s.Component = 10, 10, 5, 5, "cart"
	s.Running = &rolloutv1alpha1.RunningRollout{
		Mode: rolloutv1alpha1.InPlaceMode, TargetRef: rolloutv1alpha1.WorkloadReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "cart"}, Total: 10,
		TargetAppRevision: "shop-v2", SourceAppRevision: "shop-v1", Component: "cart", RolloutBatches: make([]rolloutv1alpha1.RunningBatch, 2),
	}
}

// The plan of an application's rollout is the application's: the API takes what the commands write there, and the AppRollout stays.
func TestTheRolloutOfAnApplication(t *testing.T) {
	app := application(t, "shop", func(a *oamv1beta1.Application) {
		a.Spec.RolloutPlan = &rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](2), BatchPartition: ptr.To[int32](0)}
	})
	rollout := &oamv1beta1.AppRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: "shop", UID: app.UID, Controller: ptr.To(true)},
		}},
		Spec: oamv1beta1.AppRolloutSpec{TargetAppRevisionName: "shop-v2", SourceAppRevisionName: "shop-v1", RolloutPlan: *app.Spec.RolloutPlan},
	}
	if err := live.Create(t.Context(), rollout); err != nil {
		t.Fatal(err)
	}
	reportApp(t, "shop", afterOneBatch)
	must(t, "promote approllout/shop", "rollout", "get", "shop")
	must(t, "approllout/shop", "rollout", "get")
	if out, err := run(t, "rollout", "status", "app/shop"); cli.ExitStatus(err) != cli.ExitGoesOn {
		t.Errorf("status %q, %v", out, err)
	}
	must(t, "nothing was changed", "rollout", "promote", "shop", "--dry-run")
	must(t, "Application default/shop: spec.rolloutPlan.batchPartition is 1: batch 2 of 2 may begin", "rollout", "promote", "shop")
	must(t, "Application default/shop: spec.rolloutPlan.paused is true", "rollout", "pause", "app/shop")
	must(t, "Application default/shop: spec.rolloutPlan.paused is false", "resume", "approllout/shop")
	reportApp(t, "shop", func(s *oamv1beta1.AppRolloutStatus) { s.WaitingFor = rolloutv1alpha1.WaitingForMetric })
	must(t, "AppRollout default/shop: the webhooks and metrics of this step pass", "rollout", "approve", "shop")
	must(t, "AppRollout default/shop: ends", "rollout", "abort", "shop")
	if err := live.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
		t.Fatal(err)
	}
	if p := app.Spec.RolloutPlan; ptr.Deref(p.BatchPartition, -1) != 1 || p.Paused {
		t.Errorf("the plan of the application is now %+v", p)
	}
	if r := ofApp(t, "shop"); r.Generation != 1 || r.Annotations[rolloutv1alpha1.AnnotationApprove] != "1.0/0/batchReady" || r.Annotations[rolloutv1alpha1.AnnotationAbort] != "1.0" {
		t.Errorf("the AppRollout is of generation %d, with the annotations %v", r.Generation, r.Annotations)
	}
	if _, err := run(t, "rollout", "undo", "shop"); err == nil || !strings.Contains(err.Error(), "slipway app undo shop") {
		t.Errorf("undo says %v", err)
	}
	must(t, "Created", "rollout", "history", "shop")
}

func TestAnAppRolloutOfPeopleFromItsBeginningToItsUndo(t *testing.T) {
	must(t, "there is no ApplicationRevision hand-v2", "rollout", "create", "hand", "--target-revision", "hand-v2", "--source-revision", "hand-v1", "--component", "cart",
		"--num-batches", "2", "--partition", "0", "--dry-run", "server")
	must(t, "component cart from hand-v1 to hand-v2", "rollout", "create", "hand", "--target-revision", "hand-v2", "--source-revision", "hand-v1", "--component", "cart",
		"--num-batches", "2", "--partition", "0")
	reportApp(t, "hand", func(s *oamv1beta1.AppRolloutStatus) {
		afterOneBatch(s)
		s.Running.TargetAppRevision, s.Running.SourceAppRevision = "hand-v2", "hand-v1"
	})
	must(t, "AppRollout default/hand: spec.rolloutPlan.batchPartition is 1", "rollout", "promote", "hand")
	reportApp(t, "hand", func(s *oamv1beta1.AppRolloutStatus) {
		s.RollingState, s.WaitingFor = rolloutv1alpha1.RolloutSucceedState, ""
	})
	must(t, "goes back from hand-v2 to hand-v1", "rollout", "undo", "hand")
	if r := ofApp(t, "hand"); r.Spec.TargetAppRevisionName != "hand-v1" || r.Spec.SourceAppRevisionName != "hand-v2" {
		t.Errorf("afterwards it goes from %s to %s", r.Spec.SourceAppRevisionName, r.Spec.TargetAppRevisionName)
	}
	if out, err := run(t, "rollout", "create", "again", "--target-revision", "hand-v2"); err == nil || !strings.Contains(err.Error(), "spec.rolloutPlan.targetSize: is missing") {
		t.Errorf("a scale without a size: %v\n%s", err, out)
	}
}
