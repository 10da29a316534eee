// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/golden"
)

// shopApp is an application of a CloneSet and a service, on the image app:<n>.
func shopApp(n int, change ...func(*oamv1beta1.Application)) *oamv1beta1.Application {
	app := &oamv1beta1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "default", UID: "shop-uid", Generation: 3, CreationTimestamp: metav1.NewTime(builders.Epoch())},
		Spec: oamv1beta1.ApplicationSpec{Components: []oamv1beta1.ApplicationComponent{{
			Name: "cart", Type: "cloneset", Properties: &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"image":"app:%d"}`, n)},
		}}},
		Status: oamv1beta1.ApplicationStatus{
			Phase: oamv1beta1.ApplicationRunning, ObservedGeneration: 3, LatestRevision: &oamv1beta1.Revision{Name: "shop-v4", Revision: 4, RevisionHash: "h3"},
			Services:   []oamv1beta1.ApplicationService{{Name: "cart", WorkloadDefinition: oamv1beta1.WorkloadGVK{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet"}, Healthy: true, Message: "4 of 4 available"}},
			Conditions: []metav1.Condition{{Type: oamv1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", Message: "everything is deployed and healthy"}},
			AppliedResources: []oamv1beta1.AppliedResource{
				{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "cart", Component: "cart"}, {APIVersion: "v1", Kind: "Service", Name: "cart", Component: "cart"},
			},
		},
	}
	for _, c := range change {
		c(app)
	}
	return app
}

// rollsOut is in its second batch of two.
func rollsOut(app *oamv1beta1.Application) {
	app.Spec.RolloutPlan = &rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](2)}
	app.Status.Phase = oamv1beta1.ApplicationRollingOut
	app.Status.Conditions[0] = metav1.Condition{Type: oamv1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: "RollingOut", Message: "component cart: 3 of 4 pods of batch 2 are on the newest template"}
	app.Status.Services[0].Healthy, app.Status.Services[0].Message = false, "3 of 4 updated"
	app.Status.Rollout = &oamv1beta1.AppRolloutStatus{
		LastTargetAppRevision: "shop-v4", LastSourceAppRevision: "shop-v3", Component: "cart",
		RolloutStatus: rolloutv1alpha1.RolloutStatus{
			RollingState: rolloutv1alpha1.RollingInBatchesState, BatchRollingState: rolloutv1alpha1.BatchVerifyingState, CurrentBatch: 1, ObservedGeneration: 2, Run: 1,
			RolloutOriginalSize: 4, RolloutTargetSize: 4, UpgradedReplicas: 3, UpgradedReadyReplicas: 3, Message: "3 of 4 pods of batch 2 are on the newest template",
			WaitingFor: rolloutv1alpha1.WaitingForPods,
			Running: &rolloutv1alpha1.RunningRollout{
				Mode: rolloutv1alpha1.InPlaceMode, TargetRef: rolloutv1alpha1.WorkloadReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "cart"}, Total: 4,
				RolloutBatches: []rolloutv1alpha1.RunningBatch{{}, {}},
			},
		},
	}
}

func broken(app *oamv1beta1.Application) {
	app.Status.Phase = oamv1beta1.ApplicationRendering
	app.Status.Conditions[0] = metav1.Condition{
		Type: oamv1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: "NotParsed", Message: `component "cart": properties.color: is not allowed`,
	}
}

// appRevision is a snapshot with the image app:<image>.
func appRevision(t *testing.T, app *oamv1beta1.Application, number, image int) *oamv1beta1.ApplicationRevision {
	t.Helper()
	workload, err := json.Marshal(map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet",
		"metadata": map[string]any{"name": "cart", "labels": map[string]any{oamv1beta1.LabelAppRevision: fmt.Sprintf("shop-v%d", number)}},
		"spec":     map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": fmt.Sprintf("app:%d", image)}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("shop-v%d", number)
	return &oamv1beta1.ApplicationRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(builders.Epoch().Add(time.Duration(number) * time.Minute)),
			Labels:          map[string]string{oamv1beta1.LabelAppName: app.Name, oamv1beta1.LabelAppRevisionHash: fmt.Sprintf("h%d", image)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(app, oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationKind))},
		},
		Spec: oamv1beta1.ApplicationRevisionSpec{
			Revision: int64(number), Application: oamv1beta1.Application{Spec: shopApp(image).Spec},
			ComponentRevisions: []oamv1beta1.ComponentRevision{{Name: "cart", Revision: fmt.Sprintf("cart-v%d", image), Workload: &runtime.RawExtension{Raw: workload}}},
		},
	}
}

// appWorld is the application with four revisions, of which the third is the first again; and one of somebody else.
func appWorld(t *testing.T, change ...func(*oamv1beta1.Application)) []client.Object {
	t.Helper()
	app := shopApp(3, change...)
	other := appRevision(t, app, 9, 9)
	other.OwnerReferences = nil
	return []client.Object{app, appRevision(t, app, 1, 1), appRevision(t, app, 2, 2), appRevision(t, app, 3, 1), appRevision(t, app, 4, 3), other}
}

func TestApplicationsAreShown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*oamv1beta1.Application)
		args   []string
	}{
		"app-get":          {nil, []string{"app", "get", "shop"}},
		"app-get-rolling":  {rollsOut, []string{"app", "get", "shop"}},
		"app-get-broken":   {broken, []string{"get", "app", "shop"}},
		"app-get-all":      {nil, []string{"app", "get"}},
		"app-get-wide":     {rollsOut, []string{"app", "get", "-o", "wide"}},
		"app-history":      {nil, []string{"app", "history", "shop"}},
		"app-diff":         {nil, []string{"app", "diff", "shop"}},
		"app-diff-numbers": {nil, []string{"app", "diff", "shop", "--from", "2", "--to", "1"}},
		"app-diff-same":    {nil, []string{"app", "diff", "shop", "--from", "1", "--to", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			var change []func(*oamv1beta1.Application)
			if c.change != nil {
				change = append(change, c.change)
			}
			r := newRun(t, appWorld(t, change...)...)
			if err := r.execute(t.Context(), t, c.args...); err != nil {
				t.Fatal(err)
			}
			golden.Text(t, name+".txt", r.out.String())
		})
	}
}

func TestAnApplicationGoesBack(t *testing.T) {
	for sentence, c := range map[string]struct {
		args  []string
		out   string
		image string
	}{
		"to the newest that differs": {nil, "Application default/shop: has the components of shop-v3 again\n", "app:1"},
		"to a number":                {[]string{"--to-revision", "2"}, "Application default/shop: has the components of shop-v2 again\n", "app:2"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t, appWorld(t)...)
			if err := r.execute(t.Context(), t, append([]string{"app", "undo", "shop"}, c.args...)...); err != nil {
				t.Fatal(err)
			}
			if r.out.String() != c.out {
				t.Errorf("got %q", r.out.String())
			}
			app := &oamv1beta1.Application{}
			if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "shop"}, app); err != nil {
				t.Fatal(err)
			}
			if got := string(app.Spec.Components[0].Properties.Raw); !strings.Contains(got, c.image) {
				t.Errorf("the properties are %s", got)
			}
		})
	}
}

func TestAnApplicationIsPaused(t *testing.T) {
	r := newRun(t, appWorld(t, rollsOut)...)
	if err := r.execute(t.Context(), t, "pause", "app/shop"); err != nil {
		t.Fatal(err)
	}
	app := &oamv1beta1.Application{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "shop"}, app); err != nil {
		t.Fatal(err)
	}
	if !app.Spec.RolloutPlan.Paused {
		t.Error("it is not")
	}
	if err := newRun(t, appWorld(t)...).execute(t.Context(), t, "pause", "app/shop"); err == nil || !strings.Contains(err.Error(), "has no rolloutPlan") {
		t.Errorf("without a plan: %v", err)
	}
}

func TestApplicationsAreMade(t *testing.T) {
	r := newRun(t)
	args := []string{
		"app", "create", "shop", "--type", "webservice", "--set", "image=app:1", "--set", "port=8080", "--set", `env=[{"name": "A", "value": "x=y"}]`, "--set", "probe.path=/",
		"--trait", "expose:port=[80, 81],type=NodePort", "--trait", "scaler:replicas=4", "--trait", "labels", "--num-batches", "3",
	}
	if err := r.execute(t.Context(), t, append(args, "--dry-run", "-o", "yaml")...); err != nil {
		t.Fatal(err)
	}
	golden.Text(t, "app-create.txt", r.out.String())
	r = newRun(t)
	if err := r.execute(t.Context(), t, args...); err != nil {
		t.Fatal(err)
	}
	app := &oamv1beta1.Application{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "shop"}, app); err != nil {
		t.Fatal(err)
	}
	if len(app.Spec.Components) != 1 || app.Spec.Components[0].Name != "shop" || *app.Spec.RolloutPlan.NumBatches != 3 {
		t.Errorf("it is %+v", app.Spec)
	}
}

func TestCommandsOfApplicationsAreRefused(t *testing.T) {
	for sentence, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing is said of the type":           {[]string{"app", "create", "x"}, "say what is made: --type TYPE"},
		"a property without a value":            {[]string{"app", "create", "x", "--type", "t", "--set", "image"}, `--set "image" is not written as name=value`},
		"a value that is no YAML":               {[]string{"app", "create", "x", "--type", "t", "--set", "a=[1"}, "--set a: the value is no YAML"},
		"a trait with a property without value": {[]string{"app", "create", "x", "--type", "t", "--trait", "expose:port"}, `--trait expose "port" is not written as name=value`},
		"fewer batches than none":               {[]string{"app", "create", "x", "--type", "t", "--num-batches", "-1"}, "--num-batches cannot be negative"},
		"one that is there already":             {[]string{"app", "create", "shop", "--type", "t"}, "already exists"},
		"a revision that there is not":          {[]string{"app", "undo", "shop", "--to-revision", "7"}, "there is no revision 7, only: 4, 3, 2, 1"},
		"a revision below none":                 {[]string{"app", "undo", "shop", "--to-revision", "-1"}, "--to-revision cannot be negative"},
		"no difference to such a revision":      {[]string{"app", "diff", "shop", "--to", "7"}, "there is no revision 7, only: 4, 3, 2, 1"},
		"an application that there is not":      {[]string{"app", "history", "x"}, `no Application "x" in namespace "default"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t, appWorld(t)...)
			err := r.execute(t.Context(), t, c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}
