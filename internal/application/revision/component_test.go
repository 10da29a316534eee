// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// in changes a workload at a path.
func in(workload map[string]any, value any, path ...string) map[string]any {
	node := workload
	for _, key := range path[:len(path)-1] {
		next, ok := node[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			node[key] = next
		}
		node = next
	}
	node[path[len(path)-1]] = value
	return workload
}

// container is the pod template's list of one container with one more field.
func container(key string, value any) []any {
	return []any{map[string]any{"name": "main", "image": "web:1", key: value}}
}

func TestWhatMakesAComponentRevision(t *testing.T) {
	web := func() map[string]any { return deployment("web", "web:1", 3) }
	base, err := TemplateHash(web())
	if err != nil {
		t.Fatal(err)
	}
	pod := []string{"spec", "template", "spec"}
	containers := append(pod[:3:3], "containers")
	for sentence, test := range map[string]struct {
		workload map[string]any
		same     bool
	}{
		"nothing":                              {web(), true},
		"another image":                        {deployment("web", "web:2", 3), false},
		"another number of pods":               {deployment("web", "web:1", 7), true},
		"another number type":                  {in(web(), 3.0, "spec", "replicas"), true},
		"another strategy":                     {in(web(), map[string]any{"type": "Recreate"}, "spec", "strategy"), true},
		"paused":                               {in(web(), true, "spec", "paused"), true},
		"another name, as for its revision":    {in(web(), "web-v2", "metadata", "name"), true},
		"labels of the workload":               {in(web(), map[string]any{"a": "b"}, "metadata", "labels"), true},
		"a status":                             {in(web(), map[string]any{"replicas": int64(3)}, "status"), true},
		"a label of the pods":                  {in(web(), "2", "spec", "template", "metadata", "labels", "version"), false},
		"a default of the pods":                {in(web(), "Always", append(pod[:3:3], "restartPolicy")...), true},
		"a default of the container":           {in(web(), container("terminationMessagePath", "/dev/termination-log"), containers...), true},
		"another value than the default":       {in(web(), container("terminationMessagePath", "/a"), containers...), false},
		"a null":                               {in(web(), container("command", nil), containers...), true},
		"an amount":                            {in(web(), container("resources", map[string]any{"limits": map[string]any{"cpu": "1"}}), containers...), false},
		"a field that is younger than we are":  {in(web(), container("fromTheFuture", "a"), containers...), false},
		"another selector":                     {in(web(), map[string]any{"matchLabels": map[string]any{"app": "web", "a": "b"}}, "spec", "selector"), false},
		"an empty part of the selector":        {in(web(), []any{}, "spec", "selector", "matchExpressions"), true},
		"another kind":                         {in(web(), "StatefulSet", "kind"), false},
		"another version of the kind":          {in(web(), "apps/v2", "apiVersion"), true},
		"the same kind of another group":       {in(web(), "apps.kruise.io/v1beta1", "apiVersion"), false},
		"the same kind of the group of groups": {in(web(), "v1", "apiVersion"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := TemplateHash(test.workload)
			if err != nil {
				t.Fatal(err)
			}
			if (got == base) != test.same {
				t.Errorf("hash %s against %s, want the same: %v", got, base, test.same)
			}
		})
	}
}

func TestAmountsAreComparedByWhatTheyAre(t *testing.T) {
	limits := func(amount any) map[string]any {
		return in(deployment("web", "web:1", 3), container("resources", map[string]any{"limits": map[string]any{"cpu": amount}}), "spec", "template", "spec", "containers")
	}
	one, err := TemplateHash(limits("1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, amount := range []any{"1000m", int64(1)} {
		if got, err := TemplateHash(limits(amount)); err != nil || got != one {
			t.Errorf("%v gives %s, %v; want that of 1, which is %s", amount, got, err, one)
		}
	}
}

func TestWorkloadsWithoutAPodTemplateAreComparedWhole(t *testing.T) {
	job := func() map[string]any {
		return map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": map[string]any{"name": "a"},
			"spec": map[string]any{"schedule": "* * * * *", "replicas": int64(1), "jobTemplate": map[string]any{"a": []any{int64(1), nil}}}, "data": map[string]any{"a": "b"}}
	}
	base, err := TemplateHash(job())
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		workload map[string]any
		same     bool
	}{
		"nothing":                              {job(), true},
		"another number of replicas":           {in(job(), int64(2), "spec", "replicas"), true},
		"another value":                        {in(job(), "1 * * * *", "spec", "schedule"), false},
		"another value in depth":               {in(job(), []any{int64(2), nil}, "spec", "jobTemplate", "a"), false},
		"a place in a list":                    {in(job(), []any{nil, int64(1)}, "spec", "jobTemplate", "a"), false},
		"the number of another Go type":        {in(job(), []any{1.0, nil}, "spec", "jobTemplate", "a"), true},
		"a null":                               {in(job(), nil, "spec", "suspend"), true},
		"an empty object, which may say so":    {in(job(), map[string]any{}, "spec", "suspend"), false},
		"another value beside the spec":        {in(job(), "c", "data", "a"), false},
		"metadata and status":                  {in(in(job(), "b", "metadata", "name"), "c", "status"), true},
		"a template that is none":              {in(job(), "a", "spec", "template"), false},
		"a template of no pods":                {in(job(), map[string]any{"spec": map[string]any{"containers": "a"}}, "spec", "template"), false},
		"a template that no pod is made from":  {in(job(), map[string]any{"spec": map[string]any{"containers": []any{"a"}}}, "spec", "template"), false},
		"the same without a spec is different": {map[string]any{"apiVersion": "batch/v1", "kind": "CronJob"}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := TemplateHash(test.workload)
			if err != nil {
				t.Fatal(err)
			}
			if (got == base) != test.same {
				t.Errorf("hash %s against %s, want the same: %v", got, base, test.same)
			}
		})
	}
	workload := job()
	if _, err := TemplateHash(workload); err != nil || cmp.Diff(job(), workload) != "" {
		t.Errorf("the workload was changed, or %v:\n%s", err, cmp.Diff(job(), workload))
	}
	if hash, err := TemplateHash(nil); err == nil {
		t.Errorf("no workload has the hash %s", hash)
	}
	if hash, err := TemplateHash(map[string]any{"spec": func() {}}); err == nil {
		t.Errorf("what cannot be encoded has the hash %s", hash)
	}
}

// record gives the component revisions of a content as they are stored.
func record(t *testing.T, app *oamv1beta1.Application, components []Component, known Known) Known {
	t.Helper()
	for _, c := range components {
		if c.Stored != nil {
			continue
		}
		object, err := c.Object(app)
		if err != nil {
			t.Fatal(err)
		}
		known.Stored = append(known.Stored, stored(t, object))
	}
	return known
}

func names(components []Component) string {
	var all []string
	for _, c := range components {
		name := c.Revision
		if c.Stored == nil {
			name += "*"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// TestAStoryOfComponentRevisions: a star is a revision that has to be created.
func TestAStoryOfComponentRevisions(t *testing.T) {
	app := shop().Application
	known := Known{Taken: map[string]bool{}}
	for _, chapter := range []struct {
		sentence string
		content  Content
		before   func()
		want     string
	}{
		{"everything is new", shop(), nil, "web-v1* jobs-v1*"},
		{"one component changes", image(0, "web:2"), nil, "web-v2* jobs-v1"},
		{"the other changes", with(func(c *Content) {
			web(c).Properties, c.Application.Spec.Components[1].Properties = raw(`{"image":"web:2"}`), raw(`{"image":"jobs:2"}`)
		}), nil, "web-v2 jobs-v2*"},
		{"only the number of pods changes", with(func(c *Content) { web(c).Traits[0].Properties = raw(`{"replicas":9}`) }), nil, "web-v1 jobs-v1"},
		{"it goes back", shop(), nil, "web-v1 jobs-v1"},
		{"something else has the next name", image(0, "web:3"), func() { known.Taken["web-v3"] = true }, "web-v4* jobs-v1"},
		{"a component is renamed", with(func(c *Content) { web(c).Name = "shop" }), nil, "shop-v1* jobs-v1"},
		{"somebody has deleted the newest revision, and another number may be free", image(0, "web:5"),
			func() { known.Stored = without(known.Stored, "web-v4") }, "web-v4* jobs-v1"},
	} {
		if chapter.before != nil {
			chapter.before()
		}
		components, err := known.Components(render(t, chapter.content))
		if err != nil {
			t.Fatalf("%s: %v", chapter.sentence, err)
		}
		if diff := cmp.Diff(chapter.want, names(components)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", chapter.sentence, diff)
		}
		known = record(t, app, components, known)
	}
}

func without(all []*appsv1.ControllerRevision, name string) []*appsv1.ControllerRevision {
	var left []*appsv1.ControllerRevision
	for _, one := range all {
		if one.Name != name {
			left = append(left, one)
		}
	}
	return left
}

// TestADeletedComponentRevisionIsMadeAgain: else pods would be replaced because somebody has deleted a record.
func TestADeletedComponentRevisionIsMadeAgain(t *testing.T) {
	one, _ := deploy(t, shop(), 1, Known{})
	two, components := deploy(t, image(0, "web:2"), 2, Known{Snapshots: list(one)})
	if diff := cmp.Diff("web-v2* jobs-v1*", names(components)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	again, err := Known{Snapshots: list(two, one)}.Components(render(t, shop()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("web-v1* jobs-v1*", names(again)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestANameThatMeansSomethingElseNowIsNotUsedAgain: who has deleted a component revision may have given its name away.
func TestANameThatMeansSomethingElseNowIsNotUsedAgain(t *testing.T) {
	one, _ := deploy(t, shop(), 1, Known{})
	again, err := Known{Snapshots: list(one), Taken: map[string]bool{"web-v1": true}}.Components(render(t, shop()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("web-v2* jobs-v1*", names(again)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAComponentRevisionThatCannotBeReadIsNoComponents(t *testing.T) {
	broken := func(name, data string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{oamv1beta1.LabelComponent: "web"}},
			Data: runtime.RawExtension{Raw: []byte(data)}}
	}
	known := Known{Stored: []*appsv1.ControllerRevision{broken("web-v1", ""), broken("web-v2", "{}"), broken("web-v4", "[]"), broken("other", "{}")}}
	components, err := known.Components(render(t, shop())[:1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("web-v5*", names(components)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheNewestOfEqualComponentRevisionsIsTheOne(t *testing.T) {
	app := shop().Application
	first, err := Known{}.Components(render(t, shop())[:1])
	if err != nil {
		t.Fatal(err)
	}
	known := record(t, app, first, Known{})
	twin := known.Stored[0].DeepCopy()
	twin.Name, twin.Revision = "web-v3", 3
	known.Stored = append([]*appsv1.ControllerRevision{twin}, known.Stored...)
	components, err := known.Components(render(t, shop())[:1])
	if err != nil {
		t.Fatal(err)
	}
	if components[0].Stored != twin || components[0].Revision != "web-v3" || components[0].Number != 3 {
		t.Errorf("got %s, want web-v3", names(components))
	}
}

func TestWhatHasNoComponentRevisionIsNamed(t *testing.T) {
	_, err := Known{}.Components([]Rendered{{Name: "web"}, {Name: "jobs", Workload: map[string]any{"spec": func() {}}}})
	if err == nil || !strings.Contains(err.Error(), `component "web": there is no workload`) || !strings.Contains(err.Error(), `component "jobs": encoding`) {
		t.Errorf("got %v, want both components by name", err)
	}
	_, err = Known{Taken: map[string]bool{"web-v1": true}, Snapshots: list(&oamv1beta1.ApplicationRevision{Spec: oamv1beta1.ApplicationRevisionSpec{
		ComponentRevisions: []oamv1beta1.ComponentRevision{{Name: "web", Revision: "web-v999999999"}}}})}.Components(render(t, shop())[:1])
	if err == nil || !strings.Contains(err.Error(), `component "web": naming the next revision`) {
		t.Errorf("got %v, want that the numbers are used up", err)
	}
}

func TestTheObjectOfAComponentRevision(t *testing.T) {
	components, err := Known{}.Components(render(t, shop())[:1])
	if err != nil {
		t.Fatal(err)
	}
	got, err := components[0].Object(shop().Application)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	want := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "store", Name: "web-v1",
			Labels: map[string]string{"app.oam.dev/name": "shop", "app.oam.dev/component": "web", "app.oam.dev/component-revision-hash": components[0].Hash},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "core.oam.dev/v1beta1", Kind: "Application", Name: "shop", UID: "1",
				Controller: &yes, BlockOwnerDeletion: &yes}}},
		Data: runtime.RawExtension{Raw: []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3,` +
			`"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"web:1","name":"main"}]}}}}`)},
		Revision: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
