// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/builders"
)

// shopRevision is revision N of the application shop, with one component.
func shopRevision(t *testing.T, number int, workload client.Object, extras ...string) *oamv1beta1.ApplicationRevision {
	t.Helper()
	raw, err := json.Marshal(workload)
	if err != nil {
		t.Fatal(err)
	}
	r := &oamv1beta1.ApplicationRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationRevisionKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("shop-v%d", number), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: "shop", UID: "shop-uid", Controller: ptr.To(true)},
		}},
	}
	of := oamv1beta1.ComponentRevision{Name: "web", Revision: fmt.Sprintf("web-v%d", number), Workload: &runtime.RawExtension{Raw: raw}}
	for _, extra := range extras {
		of.Resources = append(of.Resources, oamv1beta1.RenderedResource{Name: "beside", Object: runtime.RawExtension{Raw: []byte(extra)}})
	}
	r.Spec.Revision, r.Spec.ComponentRevisions = int64(number), []oamv1beta1.ComponentRevision{of}
	return r
}

// ofShop has an object be deployed from the first revision.
func ofShop(o client.Object) {
	o.SetLabels(map[string]string{
		oamv1beta1.LabelAppName: "shop", oamv1beta1.LabelComponent: "web", oamv1beta1.LabelAppRevision: "shop-v1", oamv1beta1.LabelComponentRevision: "web-v1",
	})
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: "shop", UID: "shop-uid", Controller: ptr.To(true)}})
}

// renderedWeb is the CloneSet of the component as a template makes it.
func renderedWeb(image string) client.Object {
	set := builders.CloneSet("web").Replicas(3).InPlace().MaxUnavailable("1").Image(image).Build()
	return &kruisev1alpha1.CloneSet{
		TypeMeta: metav1.TypeMeta{APIVersion: kruisev1alpha1.GroupVersion.String(), Kind: kruisev1alpha1.CloneSetKind}, ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: set.Spec,
	}
}

// shopOfSets is an application of one CloneSet with three available pods: its first revision is deployed, and its second has another image.
func shopOfSets(t *testing.T) []client.Object {
	t.Helper()
	set := builders.CloneSet("web").Replicas(3).InPlace().MaxUnavailable("1").Build()
	set.Namespace = "default"
	objects := living(t, set, "p1", "p2", "p3")
	ofShop(set)
	set.Status.Replicas, set.Status.ReadyReplicas, set.Status.AvailableReplicas, set.Status.UpdatedReplicas = 3, 3, 3, 3
	set.Status.ObservedGeneration = set.Generation
	service := `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}`
	return append(objects, shopRevision(t, 1, renderedWeb(builders.Image)), shopRevision(t, 2, renderedWeb("registry.test/app:v2"), service), shopTemplate(true))
}

// shopTemplate is the application. It leaves its revisions to others, or deploys them by itself.
func shopTemplate(leaves bool) *oamv1beta1.Application {
	return &oamv1beta1.Application{
		TypeMeta: metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "shop", UID: "shop-uid", Annotations: map[string]string{oamv1beta1.AnnotationRolloutTemplate: fmt.Sprint(leaves)},
		},
	}
}

// shopOfDeployments is the same with a Deployment for each revision.
func shopOfDeployments(t *testing.T) []client.Object {
	t.Helper()
	labels := map[string]string{"app": "web"}
	rendered := func(image string) *appsv1.Deployment {
		d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		d.Spec = appsv1.DeploymentSpec{Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: builders.CloneSet("web").Image(image).Build().Spec.Template}
		return d
	}
	live := rendered(builders.Image)
	ofShop(live)
	live.Namespace, live.Name, live.UID, live.Generation = "default", "web-v1", "d-uid", 1
	live.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 3}
	return []client.Object{live, shopRevision(t, 1, rendered(builders.Image)), shopRevision(t, 2, rendered("registry.test/app:v2")), shopTemplate(true)}
}

const ofAppRollout = `apiVersion: core.oam.dev/v1beta1
kind: AppRollout
metadata: {name: web}
spec:
  targetAppRevisionName: shop-v2
  sourceAppRevisionName: shop-v1
  rolloutPlan: {rolloutBatches: [{replicas: 1}, {}]}
`

func TestPlanOfAnAppRollout(t *testing.T) {
	batches := []string{
		"AppRollout default/web: is new", "component web from shop-v1 to shop-v2: CloneSet web to its newest template", "can change in place",
		"apply: Service web, CloneSet web", "batch 1 of 2: 1 pod, goal 1 of 3", "2, then 3 of 3    update in place: web-p1", "batch 2 of 2: 2 pods (rest), goal 3 of 3",
		"at least 2 pods are available at every moment", "it succeeds",
	}
	pair := []string{
		"from Deployment web-v1 to Deployment web-v2, growing first", "apply: Deployment web-v2", "create: 2 pods of Deployment web-v2", "take away: Deployment web-v1",
		"at least 3 pods are available at every moment", "it succeeds",
	}
	without := func(kind string) func([]client.Object) []client.Object {
		return func(all []client.Object) (left []client.Object) {
			for _, o := range all {
				if o.GetObjectKind().GroupVersionKind().Kind != kind {
					left = append(left, o)
				}
			}
			return left
		}
	}
	for sentence, test := range map[string]struct {
		objects func(*testing.T) []client.Object
		change  func([]client.Object) []client.Object
		text    string
		offline bool
		status  int
		says    []string
	}{
		"of a set, by the cluster":        {objects: shopOfSets, text: ofAppRollout, status: ExitChanges, says: batches},
		"of a set, offline":               {objects: shopOfSets, text: ofAppRollout, offline: true, status: ExitChanges, says: batches},
		"of two objects, by the cluster":  {objects: shopOfDeployments, text: ofAppRollout, status: ExitChanges, says: pair},
		"of two objects, offline":         {objects: shopOfDeployments, text: ofAppRollout, offline: true, status: ExitChanges, says: pair},
		"of a revision that is not there": {objects: shopOfSets, text: strings.ReplaceAll(ofAppRollout, "shop-v2", "shop-v9"), status: ExitChanges, says: []string{"it waits: there is no ApplicationRevision shop-v9 in namespace default"}},
		"of no revision at all": {objects: shopOfSets, change: without(oamv1beta1.ApplicationRevisionKind), text: ofAppRollout, offline: true, status: ExitChanges,
			says: []string{"it waits: there is no ApplicationRevision shop-v2 in namespace default"}},
		"of an application that is gone": {objects: shopOfSets, change: without(oamv1beta1.ApplicationKind), text: ofAppRollout, status: ExitChanges,
			says: []string{"warning: there is no Application shop in namespace default any more"}},
		"of an application that deploys by itself": {objects: shopOfSets, text: ofAppRollout, status: ExitChanges, says: []string{"warning: Application shop deploys its revisions by itself"},
			change: func(all []client.Object) []client.Object {
				return append(without(oamv1beta1.ApplicationKind)(all), shopTemplate(false))
			}},
		"with a plan that the API refuses": {objects: shopOfSets, text: strings.Replace(ofAppRollout, "shop-v1", "shop-v2", 1), status: ExitError},
		"of a scale": {objects: shopOfSets, text: strings.NewReplacer("shop-v2\n", "shop-v1\n", "  sourceAppRevisionName: shop-v1\n", "", "rolloutPlan: {", "rolloutPlan: {targetSize: 5, ").Replace(ofAppRollout),
			status: ExitChanges, says: []string{"component web of shop-v1: CloneSet web from 3 to 5 pods", "batch 2 of 2: 1 pod (rest), goal 2 of 2"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := test.objects(t)
			if test.change != nil {
				objects = test.change(objects)
			}
			r := newRun(t, objects...)
			args := []string{"plan", "-f", file(t, "rollout.yaml", test.text)}
			if test.offline {
				args = append(args, "--offline", "--live", dump(t, objects))
			}
			r.says(t, test.status, test.says, args...)
			if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &oamv1beta1.AppRollout{}); err == nil {
				t.Error("the rollout was written")
			}
		})
	}
}

// One that has ended does nothing more, and one that an application writes is the application's to say.
func TestPlanOfAnAppRolloutThatIsThere(t *testing.T) {
	ended := func(by string) *oamv1beta1.AppRollout {
		r := &oamv1beta1.AppRollout{}
		if err := yaml.Unmarshal([]byte(ofAppRollout), r); err != nil {
			t.Fatal(err)
		}
		r.Namespace, r.UID, r.Generation = "default", "r-uid", 1
		r.Status.RolloutStatus = rolloutv1alpha1.RolloutStatus{
			RollingState: rolloutv1alpha1.RolloutSucceedState, ObservedGeneration: 1, Message: "all batches are done, and the workload is released",
			Running: &rolloutv1alpha1.RunningRollout{
				TargetRef: rolloutv1alpha1.WorkloadReference{APIVersion: kruisev1alpha1.GroupVersion.String(), Kind: kruisev1alpha1.CloneSetKind, Name: "web"},
				Mode:      rolloutv1alpha1.InPlaceMode, Total: 3, TargetAppRevision: "shop-v2", SourceAppRevision: "shop-v1", Component: "web",
			},
		}
		if by != "" {
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: by, UID: "shop-uid", Controller: ptr.To(true)}}
		}
		return r
	}
	for sentence, test := range map[string]struct {
		by, says string
	}{
		"that has ended":             {"", "it has succeeded: all batches are done"},
		"that an application writes": {"shop", "warning: Application shop writes this rollout"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t, append(shopOfSets(t), ended(test.by))...)
			if err := r.execute(t.Context(), t, "plan", "-f", file(t, "rollout.yaml", ofAppRollout)); err != nil {
				t.Errorf("%v\n%s", err, r.out.String())
			}
			if !strings.Contains(r.out.String(), test.says) {
				t.Errorf("does not say %q:\n%s", test.says, r.out.String())
			}
		})
	}
}

func TestPlanOfAnAppRolloutForPrograms(t *testing.T) {
	r := newRun(t, shopOfDeployments(t)...)
	if err := r.execute(t.Context(), t, "plan", "-f", file(t, "rollout.yaml", ofAppRollout), "-o", "json"); !errors.Is(err, ErrChanges) {
		t.Fatal(err)
	}
	var got struct {
		Items []struct {
			Kind, APIVersion, Ending, Mode string
			Total, LeastAvailable          int
			Before, After                  struct {
				Moments []struct {
					Actions []struct{ Object, Verb string }
				}
			}
			Batches []struct{ Goal, Done int }
		}
	}
	if err := json.Unmarshal([]byte(r.out.String()), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, r.out.String())
	}
	one := got.Items[0]
	if one.Kind != "AppRollout" || one.APIVersion != "core.oam.dev/v1beta1" || one.Ending != "succeeds" || one.Total != 3 || one.LeastAvailable != 3 || len(one.Batches) != 2 || one.Batches[1].Done != 3 ||
		one.Before.Moments[0].Actions[0].Object != "Deployment web-v2" || one.After.Moments[0].Actions[0].Verb != "take away" {
		t.Errorf("got %+v", one)
	}
}

// Who may not read revisions is told so; who may not read the application is only warned.
func TestRightsThatThePlanOfAnAppRolloutNeeds(t *testing.T) {
	for sentence, test := range map[string]struct {
		refused    client.Object
		status     int
		says, errs string
	}{
		"the revisions":   {&oamv1beta1.ApplicationRevision{}, ExitError, "", "slipway needs get of approllouts and of applicationrevisions"},
		"what they hold":  {&unstructured.Unstructured{}, ExitError, "", "get of all that these hold"},
		"the application": {&oamv1beta1.Application{}, ExitChanges, "these credentials may not read Application shop", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t, shopOfSets(t)...)
			r.client = interceptor.NewClient(r.client, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
				if fmt.Sprintf("%T", o) == fmt.Sprintf("%T", test.refused) {
					return apierrors.NewForbidden(oamv1beta1.GroupVersion.WithResource("x").GroupResource(), key.Name, errors.New("no"))
				}
				return c.Get(ctx, key, o, options...)
			}})
			err := r.execute(t.Context(), t, "plan", "-f", file(t, "rollout.yaml", ofAppRollout))
			if ExitStatus(err) != test.status || !strings.Contains(r.out.String(), test.says) || !strings.Contains(fmt.Sprint(err), test.errs) {
				t.Errorf("%v\n%s", err, r.out.String())
			}
		})
	}
}

// An Application is refused by its name, alone and beside what can be planned: passed over it would be taken for planned.
func TestPlanRefusesApplications(t *testing.T) {
	const application = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\nspec: {components: [{name: web, type: worker}]}\n"
	for sentence, text := range map[string]string{"alone": application, "beside others": application + "---\n" + ofAppRollout, "of another version": strings.Replace(application, "v1beta1", "v1alpha2", 1)} {
		r := newRun(t, shopOfSets(t)...)
		err := r.execute(t.Context(), t, "plan", "-f", file(t, "shop.yaml", text))
		if ExitStatus(err) != ExitError || r.out.String() != "" {
			t.Errorf("%s: %v\n%s", sentence, err, r.out.String())
			continue
		}
		for _, want := range []string{"document 1 (Application shop): no Application can be planned: `slipway app render -f FILE | slipway plan -f -`", "these kinds can be: AppRollout, CafeDeployment"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: does not say %q: %v", sentence, want, err)
			}
		}
	}
}

// What the refusal of an Application says to do is done: its rendered workloads are planned, against those that it has deployed.
func TestPlanOfTheWorkloadsOfAnApplication(t *testing.T) {
	const application = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\n" +
		"spec: {components: [{name: web, type: cloneset, properties: {image: \"registry.test/app:v1\"}, traits: [{type: scaler, properties: {replicas: 3}}]}]}\n"
	rendered := func(text string) string {
		t.Helper()
		r := newRun(t)
		if err := r.execute(t.Context(), t, "app", "render", "-f", file(t, "shop.yaml", text)); err != nil {
			t.Fatal(err)
		}
		return r.out.String()
	}
	set := &kruisev1alpha1.CloneSet{}
	if err := yaml.Unmarshal([]byte(strings.TrimPrefix(rendered(application), "---\n")), set); err != nil {
		t.Fatal(err)
	}
	set.UID, set.Generation = "web-uid", 1
	objects := living(t, set, "p1", "p2", "p3")
	set.Status.ObservedGeneration, set.Status.Replicas, set.Status.ReadyReplicas, set.Status.AvailableReplicas = 1, 3, 3, 3
	for sentence, test := range map[string]struct {
		text   string
		status int
		says   string
	}{
		"as it is":         {application, ExitFine, "the controller does nothing: 3 of 3 pods available"},
		"of another image": {strings.Replace(application, "app:v1", "app:v2", 1), ExitChanges, "update in place: web-p1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t, objects...)
			r.in = rendered(test.text)
			if err := r.execute(t.Context(), t, "plan", "-f", "-"); ExitStatus(err) != test.status || !strings.Contains(r.out.String(), test.says) {
				t.Errorf("%v\n%s\nof\n%s", err, r.out.String(), r.in)
			}
		})
	}
}
