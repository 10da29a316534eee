// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
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
	return living(t, builders.CloneSet("web").Replicas(2).InPlace().MaxUnavailable("1").Build(), "p1", "p2")
}

// living is the set with its only revision and available pods.
func living(t *testing.T, set *kruisev1alpha1.CloneSet, ids ...string) []client.Object {
	t.Helper()
	reference := *metav1.NewControllerRef(set, kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind))
	stored, err := revision.Draft{Owner: set, Reference: reference, Template: &set.Spec.Template, Number: 1}.Object()
	if err != nil {
		t.Fatal(err)
	}
	stored.TypeMeta = metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ControllerRevision"}
	set.Status.CurrentRevision, set.Status.UpdateRevision = stored.Name, stored.Name
	objects := []client.Object{set, stored}
	for _, id := range ids {
		p := builders.OwnedPod(set, id, revision.HashOf(stored.Name)).Build()
		p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		objects = append(objects, p)
	}
	return objects
}

// manifest writes a file that gives the set an image.
func manifest(t *testing.T, image string) string {
	t.Helper()
	return written(t, builders.CloneSet("web").Replicas(2).InPlace().MaxUnavailable("1").Image(image).Build())
}

// written writes a file with the set.
func written(t *testing.T, set *kruisev1alpha1.CloneSet) string {
	t.Helper()
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
			r.says(t, test.status, test.says, args...)
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
		"a cluster that is asked":    {[]string{"plan", "-f", bad, "--no-resize"}, "--no-resize goes with --offline: a cluster is asked"},
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

// zoned is a set of three pods, one in zone a and two in zone b, that wants its pods spread over zones.
func zoned(t *testing.T) (objects []client.Object, smaller string) {
	t.Helper()
	constrain := func(set *kruisev1alpha1.CloneSet) *kruisev1alpha1.CloneSet {
		set.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: set.Spec.Selector.DeepCopy(),
		}}
		return set
	}
	objects = living(t, constrain(builders.CloneSet("web").Replicas(3).Build()), "p1", "p2", "p3")
	zones := map[string]string{"web-p1": "a", "web-p2": "b", "web-p3": "b"}
	for i := range objects {
		if p, isPod := objects[i].(*corev1.Pod); isPod {
			p.Spec.NodeName = "node-of-" + p.Name
			objects = append(objects, &corev1.Node{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
				ObjectMeta: metav1.ObjectMeta{Name: p.Spec.NodeName, Labels: map[string]string{corev1.LabelTopologyZone: zones[p.Name]}},
			})
		}
	}
	return objects, written(t, constrain(builders.CloneSet("web").Replicas(2).Build()))
}

// The pod that goes first by its name is p1, but its zone has no other.
func TestPlanKnowsZones(t *testing.T) {
	forbidden := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, nodes := list.(*metav1.PartialObjectMetadataList); nodes {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("no"))
		}
		return c.List(ctx, list, opts...)
	}}
	isNode := func(o client.Object) bool { _, node := o.(*corev1.Node); return node }
	for sentence, test := range map[string]struct {
		rights  interceptor.Funcs
		offline func(objects []client.Object) []client.Object
		want    string
		warns   bool
	}{
		"by the cluster":                           {want: "delete: web-p2"},
		"by a cluster that shows no nodes":         {rights: forbidden, want: "delete: web-p1", warns: true},
		"by a dump with nodes":                     {offline: func(all []client.Object) []client.Object { return all }, want: "delete: web-p2"},
		"by a dump without nodes, which is warned": {offline: func(all []client.Object) []client.Object { return slices.DeleteFunc(all, isNode) }, want: "delete: web-p1", warns: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects, smaller := zoned(t)
			r, args := newRun(t, objects...), []string{"plan", "-f", smaller}
			r.client = interceptor.NewClient(r.client, test.rights)
			if test.offline != nil {
				args = append(args, "--offline", "--live", dump(t, test.offline(objects)))
			}
			if err := r.execute(t.Context(), t, args...); !errors.Is(err, ErrChanges) {
				t.Fatalf("error %v, want %v", err, ErrChanges)
			}
			warns := strings.Contains(r.out.String(), "topologySpreadConstraints are not counted")
			if !strings.Contains(r.out.String(), test.want) || warns != test.warns {
				t.Errorf("want %q, and a warning: %t; got:\n%s", test.want, test.warns, r.out.String())
			}
		})
	}
}

func TestPlanKnowsWhetherPodsAreResized(t *testing.T) {
	request := func(cpu string) func(*kruisev1alpha1.CloneSet) {
		return func(set *kruisev1alpha1.CloneSet) {
			set.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		}
	}
	set := func(cpu string) *kruisev1alpha1.CloneSet {
		return builders.CloneSet("web").Replicas(2).InPlace().MaxUnavailable("1").With(request(cpu)).Build()
	}
	inPlace := []string{" can change in place (resources of app)", "pods: update in place 2"}
	recreated := []string{" cannot change in place: spec.containers[app].resources", "pods: recreate 2, create 2"}
	const warning = "may not ask whether the server can resize"
	for sentence, test := range map[string]struct {
		noResize bool
		askError error
		offline  []string
		want     []string
		warns    bool
	}{
		"by a cluster that can":                 {want: inPlace},
		"by a cluster that cannot":              {noResize: true, want: recreated},
		"by a cluster that may not be asked":    {noResize: true, askError: apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), want: inPlace, warns: true},
		"without a cluster":                     {offline: []string{"--offline"}, want: inPlace},
		"without a cluster, by what one can do": {offline: []string{"--offline", "--no-resize"}, want: recreated},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := set("100m")
			objects := living(t, before, "p1", "p2")
			for _, object := range objects {
				if p, isPod := object.(*corev1.Pod); isPod { // only nodes that can resize report this
					p.Status.ContainerStatuses[0].Resources = before.Spec.Template.Spec.Containers[0].Resources.DeepCopy()
				}
			}
			r, args := newRun(t, objects...), []string{"plan", "-f", written(t, set("200m"))}
			r.noResize, r.askError = test.noResize, test.askError
			if test.offline != nil {
				args = append(append(args, "--live", dump(t, objects)), test.offline...)
			}
			if err := r.execute(t.Context(), t, args...); !errors.Is(err, ErrChanges) {
				t.Fatalf("error %v, want %v", err, ErrChanges)
			}
			warns := strings.Contains(r.out.String(), warning)
			missing := slices.DeleteFunc(slices.Clone(test.want), func(line string) bool { return strings.Contains(r.out.String(), line) })
			if len(missing) > 0 || warns != test.warns {
				t.Errorf("want %q, and a warning: %t; got:\n%s", missing, test.warns, r.out.String())
			}
		})
	}
}

func TestAPlanAgainstAServerThatDoesNotSayWhatItCanDoIsNone(t *testing.T) {
	r := newRun(t, livingSet(t)...)
	r.askError = errors.New("asking which resources the server has: timeout")
	err := r.execute(t.Context(), t, "plan", "-f", manifest(t, "registry.test/app:v2"))
	if !errors.Is(err, r.askError) || r.out.String() != "" {
		t.Errorf("error %v, output:\n%s", err, r.out.String())
	}
}
