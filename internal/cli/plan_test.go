// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/test/builders"
)

// livingSet is a set of two available pods at its only revision.
func livingSet(t *testing.T) []client.Object {
	t.Helper()
	set := builders.CloneSet("web").Replicas(2).InPlace().MaxUnavailable("1").Build()
	reference := *metav1.NewControllerRef(set, kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind))
	stored, err := revision.Draft{Owner: set, Reference: reference, Template: &set.Spec.Template, Number: 1}.Object()
	if err != nil {
		t.Fatal(err)
	}
	stored.TypeMeta = metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ControllerRevision"}
	set.Status.CurrentRevision, set.Status.UpdateRevision = stored.Name, stored.Name
	hash := revision.HashOf(stored.Name)
	one, two := builders.OwnedPod(set, "p1", hash).Build(), builders.OwnedPod(set, "p2", hash).Build()
	for _, p := range []client.Object{one, two} {
		p.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	}
	return []client.Object{set, stored, one, two}
}

// manifest writes a file that gives the set an image.
func manifest(t *testing.T, image string) string {
	t.Helper()
	set := builders.CloneSet("web").Replicas(2).InPlace().MaxUnavailable("1").Image(image).Build()
	set.UID, set.Generation = "", 0
	raw, err := yaml.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "web.yaml", string(raw))
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func dump(t *testing.T, objects []client.Object) string {
	t.Helper()
	raw, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "live.yaml", string(raw))
}

func TestPlanStatus(t *testing.T) {
	for sentence, test := range map[string]struct {
		image  string
		args   func(live string) []string
		status int
		says   []string
	}{
		"nothing to do, by the cluster": {builders.Image, nil, ExitFine, []string{"the controller does nothing: 2 of 2 pods available"}},
		"nothing to do, offline": {builders.Image, func(live string) []string { return []string{"--offline", "--live", live} }, ExitFine,
			[]string{"the controller does nothing: 2 of 2 pods available"}},
		"a new image, by the cluster": {"registry.test/app:v2", nil, ExitChanges,
			[]string{"update in place: web-p1", "update in place: web-p2", "at least 1 of 2 pods"}},
		"a new image, offline": {"registry.test/app:v2", func(live string) []string { return []string{"--offline", "--live", live} }, ExitChanges,
			[]string{"update in place: web-p1", "update in place: web-p2", "at least 1 of 2 pods"}},
		"a new set, offline": {builders.Image, func(string) []string { return []string{"--offline"} }, ExitChanges,
			[]string{"CloneSet default/web: is new", "pods: create 2", "names of pods are examples"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := livingSet(t)
			r := newRun(t, objects...)
			args := []string{"plan", "-f", manifest(t, test.image)}
			if test.args != nil {
				args = append(args, test.args(dump(t, objects))...)
			}
			err := r.execute(t.Context(), t, args...)
			if got := ExitStatus(err); got != test.status {
				t.Errorf("status %d, want %d; error %v", got, test.status, err)
			}
			for _, want := range test.says {
				if !strings.Contains(r.out.String(), want) {
					t.Errorf("does not say %q:\n%s", want, r.out.String())
				}
			}
		})
	}
}

func TestPlanOnClusterWritesNothing(t *testing.T) {
	r := newRun(t, livingSet(t)...)
	before := &kruisev1alpha1.CloneSet{}
	key := client.ObjectKey{Namespace: builders.Namespace, Name: "web"}
	if err := r.client.Get(t.Context(), key, before); err != nil {
		t.Fatal(err)
	}
	if err := r.execute(t.Context(), t, "plan", "-f", manifest(t, "registry.test/app:v2")); !errors.Is(err, ErrChanges) {
		t.Fatal(err)
	}
	after := &kruisev1alpha1.CloneSet{}
	if err := r.client.Get(t.Context(), key, after); err != nil {
		t.Fatal(err)
	}
	if before.ResourceVersion != after.ResourceVersion {
		t.Errorf("the set was written")
	}
}

func TestPlanWithReadOnlyRights(t *testing.T) {
	r := newRun(t, livingSet(t)...)
	r.client = interceptor.NewClient(r.client, interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Group: "apps.kruise.io", Resource: "clonesets"}, "web", errors.New("no"))
		},
	})
	err := r.execute(t.Context(), t, "plan", "-f", manifest(t, "registry.test/app:v2"))
	if !errors.Is(err, ErrChanges) || !strings.Contains(r.out.String(), "the manifest is not checked") {
		t.Errorf("error %v, output:\n%s", err, r.out.String())
	}
}

func TestPlanForPrograms(t *testing.T) {
	r := newRun(t, livingSet(t)...)
	if err := r.execute(t.Context(), t, "plan", "-f", manifest(t, "registry.test/app:v2"), "-o", "json"); !errors.Is(err, ErrChanges) {
		t.Fatal(err)
	}
	var got struct {
		Items []struct {
			Name           string
			LeastAvailable int
			Moments        []struct {
				Actions []struct{ Object, Verb, Why string }
			}
		}
	}
	if err := json.Unmarshal([]byte(r.out.String()), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, r.out.String())
	}
	if len(got.Items) != 1 || got.Items[0].Name != "web" || got.Items[0].LeastAvailable != 1 || len(got.Items[0].Moments) != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestPlanRefusals(t *testing.T) {
	bad := file(t, "bad.yaml", "apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: web}\nspec: {replicaz: 1}\n")
	contradictory := file(t, "empty.yaml", "apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: web}\nspec: {selector: {}}\n")
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"no file":                    {[]string{"plan"}, "give the manifest to plan: -f FILE"},
		"a file that is not there":   {[]string{"plan", "-f", "/nowhere.yaml"}, "open /nowhere.yaml: no such file or directory"},
		"live objects and a cluster": {[]string{"plan", "-f", bad, "--live", bad}, "--live goes with --offline"},
		"another format":             {[]string{"plan", "-f", bad, "-o", "xml"}, "-o xml is not known, only text and json"},
		"a field that is unknown":    {[]string{"plan", "-f", bad, "--offline"}, bad + `: document 1 (CloneSet web): strict decoding error: unknown field "spec.replicaz"`},
		"a field that makes no sense": {[]string{"plan", "-f", contradictory, "--offline"},
			contradictory + ": CloneSet default/web: spec.selector: must not be empty"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := newRun(t).execute(t.Context(), t, test.args...)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || ExitStatus(err) != ExitError {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
