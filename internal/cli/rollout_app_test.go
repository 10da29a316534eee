// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/golden"
)

// storedApp is an AppRollout of package rollouts' worlds: shop/cart.
func storedApp(t *testing.T, world string, change ...func(*oamv1beta1.AppRollout)) *oamv1beta1.AppRollout {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("rollouts", "testdata", world+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r := &oamv1beta1.AppRollout{}
	if err := yaml.UnmarshalStrict(raw, r); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(r)
	}
	return r
}

// cartApp is the application that writes it.
func cartApp(change ...func(*oamv1beta1.Application)) *oamv1beta1.Application {
	a := &oamv1beta1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "app-uid"}}
	a.Spec.RolloutPlan = &rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](3), BatchPartition: ptr.To[int32](0)}
	for _, c := range change {
		c(a)
	}
	return a
}

func waitsForHook(r *oamv1beta1.AppRollout) { r.Status.WaitingFor = rolloutv1alpha1.WaitingForWebhook }

func byPeople(r *oamv1beta1.AppRollout) { r.OwnerReferences = nil }

func pausedApp(a *oamv1beta1.Application) { a.Spec.RolloutPlan.Paused = true }

func failedApp(r *oamv1beta1.AppRollout) {
	r.Status.RollingState, r.Status.WaitingFor, r.Status.Ending = rolloutv1alpha1.RolloutFailedState, "", rolloutv1alpha1.LeaveEnding
}

func planText(p *rolloutv1alpha1.RolloutPlan) string {
	return fmt.Sprint(p.Paused, ptr.Deref(p.BatchPartition, -1), ptr.Deref(p.TargetSize, -1))
}

// What an application writes is changed in the application; what people say stands at the AppRollout.
func TestEditsOfAppRollouts(t *testing.T) {
	type result struct{ App, Rollout, Refs, Said string }
	const same = "false 0 -1"
	from, said := "cart-v2 from cart-v1", func(key, value string) string { return strings.TrimPrefix(key, "rollout.slipway.dev/") + "=" + value }
	for sentence, test := range map[string]struct {
		rollout *oamv1beta1.AppRollout
		app     *oamv1beta1.Application
		args    []string
		out     string
		want    result
	}{
		"the next batch is the application's to say": {storedApp(t, "app-at-the-partition"), cartApp(), []string{"rollout", "promote", "cart"},
			"Application shop/cart: spec.rolloutPlan.batchPartition is 1: batch 2 of 3 may begin", result{"false 1 -1", same, from, ""}},
		"by the kind": {storedApp(t, "app-at-the-partition"), cartApp(), []string{"rollout", "promote", "approllout/cart"},
			"Application shop/cart: spec.rolloutPlan.batchPartition is 1: batch 2 of 3 may begin", result{"false 1 -1", same, from, ""}},
		"by the kind in full": {storedApp(t, "app-at-the-partition"), cartApp(), []string{"rollout", "promote", "approllouts.core.oam.dev", "cart"},
			"Application shop/cart: spec.rolloutPlan.batchPartition is 1: batch 2 of 3 may begin", result{"false 1 -1", same, from, ""}},
		"by the application": {storedApp(t, "app-at-the-partition"), cartApp(), []string{"rollout", "promote", "app/cart", "--full"},
			"Application shop/cart: spec.rolloutPlan.batchPartition is gone: all batches follow", result{"false -1 -1", same, from, ""}},
		"a dry run": {storedApp(t, "app-at-the-partition"), cartApp(), []string{"rollout", "promote", "cart", "--dry-run"},
			"Application shop/cart: spec.rolloutPlan.batchPartition is 1: batch 2 of 3 may begin (dry run: nothing was changed)", result{same, same, from, ""}},
		"a pause": {storedApp(t, "app-at-the-partition"), cartApp(), []string{"rollout", "pause", "cart"},
			"Application shop/cart: spec.rolloutPlan.paused is true: nothing new begins, and what is on its way ends", result{"true 0 -1", same, from, ""}},
		"a pause, by the general command": {storedApp(t, "app-at-the-partition"), cartApp(), []string{"pause", "approllout/cart"},
			"Application shop/cart: spec.rolloutPlan.paused is true: nothing new begins, and what is on its way ends", result{"true 0 -1", same, from, ""}},
		"the end of a pause": {storedApp(t, "app-at-the-partition"), cartApp(pausedApp), []string{"rollout", "resume", "app/cart"},
			"Application shop/cart: spec.rolloutPlan.paused is false: the release goes on", result{same, same, from, ""}},
		"one that people write is changed itself": {storedApp(t, "app-at-the-partition", byPeople), cartApp(), []string{"rollout", "promote", "cart"},
			"AppRollout shop/cart: spec.rolloutPlan.batchPartition is 1: batch 2 of 3 may begin", result{same, "false 1 -1", from, ""}},
		"a pause of one that people write": {storedApp(t, "app-at-the-partition", byPeople), cartApp(), []string{"resume", "approllout/cart"},
			"AppRollout shop/cart: is not paused", result{same, same, from, ""}},
		"an approval": {storedApp(t, "app-at-the-partition", waitsForHook), cartApp(), []string{"rollout", "approve", "app/cart"},
			"AppRollout shop/cart: the webhooks and metrics of this step pass: batchReady of batch 1 of 3", result{same, same, from, said(rolloutv1alpha1.AnnotationApprove, "1.0/0/batchReady")}},
		"an abort": {storedApp(t, "app-at-the-partition"), cartApp(), []string{"rollout", "abort", "cart", "--revert"},
			"AppRollout shop/cart: ends, and brings back what was before, in the same batches in reverse", result{same, same, from, said(rolloutv1alpha1.AnnotationRevert, "1.0")}},
		"a retry": {storedApp(t, "app-at-the-partition", failedApp), cartApp(), []string{"rollout", "retry", "cart"},
			"AppRollout shop/cart: begins anew, from what is there", result{same, same, from, said(rolloutv1alpha1.AnnotationRetry, "1.0")}},
		"undo has the revisions change places": {storedApp(t, "app-succeeded"), cartApp(), []string{"rollout", "undo", "cart"},
			"AppRollout shop/cart: goes back from cart-v2 to cart-v1: it begins anew", result{same, "false -1 -1", "cart-v1 from cart-v2", ""}},
		"undo of a scale": {storedApp(t, "app-scale", byPeople, func(r *oamv1beta1.AppRollout) { r.Status.RollingState = rolloutv1alpha1.RolloutSucceedState }), cartApp(),
			[]string{"rollout", "undo", "approllout/cart"},
			"AppRollout shop/cart: spec.rolloutPlan.targetSize is 4 again, the size of before: it begins anew", result{same, "false -1 4", "cart-v2 from ", ""}},
	} {
		t.Run(sentence, func(t *testing.T) {
			run := newRolloutRun(t, test.rollout, test.app)
			if err := run.execute(t.Context(), t, append(test.args, "-n", "shop")...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.out+"\n", run.out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			r, a, key := &oamv1beta1.AppRollout{}, &oamv1beta1.Application{}, types.NamespacedName{Namespace: "shop", Name: "cart"}
			for _, o := range []client.Object{r, a} {
				if err := run.client.Get(t.Context(), key, o); err != nil {
					t.Fatal(err)
				}
			}
			got := result{planText(a.Spec.RolloutPlan), planText(&r.Spec.RolloutPlan), r.Spec.TargetAppRevisionName + " from " + r.Spec.SourceAppRevisionName, ""}
			for key, value := range r.Annotations {
				got.Said = said(key, value)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("afterwards (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEditsOfAppRolloutsAreRefused(t *testing.T) {
	noPlan := func(a *oamv1beta1.Application) { a.Spec.RolloutPlan = nil }
	for sentence, test := range map[string]struct {
		objects []client.Object
		args    []string
		want    string
	}{
		"undo of what an application says": {[]client.Object{storedApp(t, "app-at-the-partition"), cartApp()}, []string{"rollout", "undo", "cart"},
			"AppRollout shop/cart: Application cart says what is rolled out, and would take it forward again; `slipway app undo cart -n shop` goes back; it stands at: shop/cart rollingInBatches/batchReady"},
		"undo to a revision": {[]client.Object{storedApp(t, "app-succeeded")}, []string{"rollout", "undo", "cart", "--to-revision", "1"},
			"--to-revision is for RolloutTraits"},
		"undo while it is on its way": {[]client.Object{storedApp(t, "app-at-the-partition", byPeople)}, []string{"rollout", "undo", "cart"},
			"`slipway rollout abort approllout/cart --revert` goes back now"},
		"a name that two have": {[]client.Object{storedApp(t, "app-at-the-partition"), stored(t, "at-the-partition", func(r *rolloutv1alpha1.RolloutTrait) { r.Name = "cart" })},
			[]string{"rollout", "pause", "cart"}, "a RolloutTrait and an AppRollout are called cart in namespace shop: write rollouttrait/cart or approllout/cart"},
		"a kind that is none":   {nil, []string{"rollout", "pause", "deployment/web"}, `"deployment" is no kind that this command knows, only: rollouttrait, approllout, app`},
		"a kind without a name": {nil, []string{"rollout", "get", "approllout/"}, "approllout/ names no object"},
		"an application without a rollout": {[]client.Object{cartApp()}, []string{"rollout", "promote", "app/cart"},
			"Application shop/cart has no rollout: it writes an AppRollout of its own name when there is something to roll out by its rolloutPlan"},
		"an application whose rollout is somebody else's": {[]client.Object{storedApp(t, "app-at-the-partition", byPeople), cartApp()}, []string{"rollout", "promote", "app/cart"},
			"AppRollout shop/cart is not written by Application cart: name it as approllout/cart"},
		"an application that is gone": {[]client.Object{storedApp(t, "app-at-the-partition")}, []string{"rollout", "promote", "cart"},
			"Application cart writes its spec, and is gone"},
		"an application without a plan": {[]client.Object{storedApp(t, "app-at-the-partition"), cartApp(noPlan)}, []string{"rollout", "pause", "cart"},
			"Application cart writes its spec, and has no rolloutPlan any more"},
		"none of that name": {nil, []string{"rollout", "status", "approllout/lost"}, `no AppRollout "lost" in namespace "shop"; ` + "`slipway get approllout -A` lists"},
		"nor of any kind":   {nil, []string{"rollout", "history", "lost"}, `no rollout "lost" in namespace "shop"; ` + "`slipway get rollout -A` lists"},
	} {
		t.Run(sentence, func(t *testing.T) {
			run := newRolloutRun(t, test.objects...)
			err := run.execute(t.Context(), t, append(test.args, "-n", "shop")...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if run.out.String() != "" {
				t.Errorf("output %q of a refusal", run.out.String())
			}
		})
	}
}

func TestBothKindsOfRolloutsAreShown(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("rollouts", "testdata", "app-at-the-partition.txt"))
	if err != nil {
		t.Fatal(err)
	}
	one := string(raw)
	const table = "NAME               TARGET        BATCH  UPGRADED  READY  AGE  STATUS\n" +
		"⏸ approllout/cart  cart-v2       1/3    1         1      20m  waits after batch 1 of 3 until spec.rolloutPlan.batchPartition, which is 0, lets the next one begin\n" +
		"⏸ web              CloneSet web  2/4    3         3      20m  waits after batch 2 of 4 until spec.rolloutPlan.batchPartition, which is 1, lets the next one begin\n"
	const alone = "NAME    TARGET   BATCH  UPGRADED  READY  AGE  STATUS\n" +
		"⏸ cart  cart-v2  1/3    1         1      20m  waits after batch 1 of 3 until spec.rolloutPlan.batchPartition, which is 0, lets the next one begin\n"
	const line = "shop/cart rollingInBatches/batchReady batch 1/3 pods 1/10: waits after batch 1 of 3 until spec.rolloutPlan.batchPartition, which is 0, lets the next one begin\n"
	for sentence, test := range map[string]struct {
		args   []string
		out    string
		status int
	}{
		"all":                          {[]string{"rollout", "get"}, table, 0},
		"all, by get":                  {[]string{"get", "rollout"}, table, 0},
		"those of applications":        {[]string{"get", "approllout"}, alone, 0},
		"one by its name":              {[]string{"rollout", "get", "cart"}, one, 0},
		"one by its kind":              {[]string{"get", "rollout", "approllout/cart"}, one, 0},
		"one by its application":       {[]string{"rollout", "get", "app/cart"}, one, 0},
		"one of the other kind":        {[]string{"rollout", "get", "rt/web", "-o", "name"}, "rollouttrait.standard.oam.dev/web\n", 0},
		"all for programs":             {[]string{"rollout", "get", "-o", "name"}, "rollouttrait.standard.oam.dev/web\napprollout.core.oam.dev/cart\n", 0},
		"a line, and what it comes to": {[]string{"rollout", "status", "cart"}, line, ExitGoesOn},
		"names for the shell":          {[]string{"__complete", "rollout", "promote", ""}, "web\napprollout/cart\n:4\n", 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			run := newRolloutRun(t, storedApp(t, "app-at-the-partition"), cartApp(), stored(t, "at-the-partition"))
			args := test.args
			if args[0] == "__complete" {
				args = append([]string{"__complete", "-n", "shop"}, args[1:]...)
			} else {
				args = append(args, "-n", "shop")
			}
			if err := run.execute(t.Context(), t, args...); ExitStatus(err) != test.status {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.out, run.out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("what has happened", func(t *testing.T) {
		run := newRolloutRun(t, storedApp(t, "app-at-the-partition"), cartApp())
		if err := run.execute(t.Context(), t, "rollout", "history", "cart", "-n", "shop"); err != nil {
			t.Fatal(err)
		}
		golden.Text(t, "rollout-history-app.txt", run.out.String())
	})
}

func TestAppRolloutsAreBegun(t *testing.T) {
	revision := func(n int) *oamv1beta1.ApplicationRevision {
		return &oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("cart-v%d", n), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: "cart", UID: "app-uid", Controller: ptr.To(true)},
		}}}
	}
	asTemplate := func(a *oamv1beta1.Application) {
		a.Annotations = map[string]string{oamv1beta1.AnnotationRolloutTemplate: "true"}
	}
	both := []string{"--target-revision", "cart-v2", "--source-revision", "cart-v1"}
	for name, test := range map[string]struct {
		app  *oamv1beta1.Application
		args []string
	}{
		"update":                {cartApp(asTemplate), append(both, "--component", "web", "--batches", "1,5,100%", "--partition", "0")},
		"scale":                 {cartApp(asTemplate), []string{"--target-revision", "cart-v2", "--target-size", "6"}},
		"of-a-missing-one":      {cartApp(asTemplate), []string{"--target-revision", "cart-v9", "--source-revision", "cart-v1"}},
		"beside-its-own":        {cartApp(), both},
		"like-another":          {cartApp(asTemplate), []string{"--like", "approllout/cart", "--num-batches", "4"}},
		"printed":               {cartApp(asTemplate), append(both, "--component", "web", "--num-batches", "2", "--dry-run", "client", "-o", "yaml")},
		"checked-by-the-server": {cartApp(asTemplate), append(both, "--dry-run", "server")},
	} {
		t.Run(name, func(t *testing.T) {
			run := newRolloutRun(t, revision(1), revision(2), storedApp(t, "app-succeeded"), test.app)
			if err := run.execute(t.Context(), t, append([]string{"rollout", "create", "go", "-n", "shop"}, test.args...)...); err != nil {
				t.Fatal(err)
			}
			golden.Text(t, "rollout-create-app-"+name+".txt", run.out.String()+run.errOut.String())
			err := run.client.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "go"}, &oamv1beta1.AppRollout{})
			if dry := strings.Contains(strings.Join(test.args, " "), "--dry-run"); dry != (err != nil) {
				t.Errorf("dry run: %t, and afterwards: %v", dry, err)
			}
		})
	}
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"workloads and revisions":         {append(both, "--target", "cloneset/web"), "use either --target and --source, for workloads, or --target-revision"},
		"a source alone":                  {[]string{"--source-revision", "cart-v1", "--target", "cloneset/web"}, "use either --target and --source"},
		"a component alone":               {[]string{"--component", "web"}, "say what is rolled out: --target KIND/NAME, or --target-revision of an application"},
		"neither a source nor a size":     {[]string{"--target-revision", "cart-v2"}, "spec.rolloutPlan.targetSize: is missing: without a sourceAppRevisionName it is a scale"},
		"the same revision twice":         {[]string{"--target-revision", "cart-v2", "--source-revision", "cart-v2"}, `spec.sourceAppRevisionName: "cart-v2" is not allowed: it is another revision than targetAppRevisionName`},
		"a component that is no name":     {append(both, "--component", "Web"), `spec.componentList[0]: "Web" is not allowed: write it like cart`},
		"mixed goals":                     {append(both, "--batches", "1,50%,100%"), "numbers and percentages together need the size of the workload"},
		"a name that is taken":            {append(both, "NAME=cart"), "AppRollout shop/cart is there already: `slipway rollout get approllout/cart` shows it"},
		"a RolloutTrait with revisions":   {[]string{"--like", "web", "--target-revision", "cart-v2"}, "are for AppRollouts, and --like names a RolloutTrait"},
		"an AppRollout with workloads":    {[]string{"--like", "cart", "--target", "cloneset/web"}, "are for RolloutTraits, and --like names an AppRollout"},
		"like one of a kind that is none": {[]string{"--like", "deployment/web"}, `--like: "deployment" is no kind that this command knows`},
	} {
		t.Run(sentence, func(t *testing.T) {
			run := newRolloutRun(t, storedApp(t, "app-succeeded"), stored(t, "at-the-partition"), revision(1), revision(2))
			name, args := "go", test.args
			if last := args[len(args)-1]; strings.HasPrefix(last, "NAME=") {
				name, args = strings.TrimPrefix(last, "NAME="), args[:len(args)-1]
			}
			err := run.execute(t.Context(), t, append([]string{"rollout", "create", name, "-n", "shop"}, args...)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
