// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

func text(t rapid.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// drafted is the draft of the first revision of a content.
func drafted(t *testing.T, content Content) Draft {
	t.Helper()
	rendered := render(t, content)
	components, err := Known{}.Components(rendered)
	if err != nil {
		t.Fatal(err)
	}
	return Draft{Content: content, Components: components, Rendered: rendered,
		Next: oamv1beta1.Revision{Name: "shop-v1", Revision: 1, RevisionHash: hashed(t, content)}}
}

func TestWhatASnapshotHolds(t *testing.T) {
	content := with(func(c *Content) {
		c.Application.Labels = map[string]string{"a": "b"}
		c.Application.Spec.RolloutPlan = &rolloutv1alpha1.RolloutPlan{Paused: true}
		c.Application.Status.Phase = oamv1beta1.ApplicationRunning
		c.Application.Spec.Components = c.Application.Spec.Components[:1]
	})
	before := text(t, content)
	got, err := drafted(t, content).Object()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, text(t, content)); diff != "" {
		t.Errorf("the content was changed (-before +after):\n%s", diff)
	}
	got = stored(t, got)
	if got.Name != "shop-v1" || got.Namespace != "store" || len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != "1" || !*got.OwnerReferences[0].Controller {
		t.Errorf("metadata: %s", text(t, got.ObjectMeta))
	}
	labels := map[string]string{"app.oam.dev/name": "shop", "app.oam.dev/app-revision-hash": hashed(t, content)}
	if diff := cmp.Diff(labels, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	var spec, want any
	if err := json.Unmarshal([]byte(text(t, got.Spec)), &spec); err != nil {
		t.Fatal(err)
	}
	workload, hash := text(t, deployment("web", "web:1", 3)), got.Spec.ComponentRevisions[0].RevisionHash
	if err := json.Unmarshal([]byte(`{"revision":1,
		"application":{"apiVersion":"core.oam.dev/v1beta1","kind":"Application","metadata":{"name":"shop","namespace":"store","labels":{"a":"b"},"annotations":{"team":"a"}},
			"spec":{"components":[{"name":"web","type":"webservice","properties":{"image":"web:1","port":80},"traits":[{"type":"scaler","properties":{"replicas":3}}]}]},"status":{}},
		"componentDefinitions":{"webservice":{"apiVersion":"core.oam.dev/v1beta1","kind":"ComponentDefinition","metadata":{"name":"webservice","namespace":"slipway-system"},
			"spec":{"workload":{"definition":{"apiVersion":"apps/v1","kind":"Deployment"}},"schematic":{"cue":{"template":"output: webservice"}},"status":{"healthPolicy":"isHealth: true"}}}},
		"traitDefinitions":{"scaler":{"apiVersion":"core.oam.dev/v1beta1","kind":"TraitDefinition","metadata":{"name":"scaler","namespace":"store"},
			"spec":{"appliesToWorkloads":["deployments.apps","webservice"],"conflictsWith":["hpa","other"],"schematic":{"cue":{"template":"patch: scaler"}}}}},
		"componentRevisions":[{"name":"web","revision":"web-v1","revisionHash":"`+hash+`","workload":`+workload+`,
			"resources":[{"name":"service","trait":"expose","object":{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}}]}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// TestASnapshotDependsOnNothingThatChangesLater: what was made from it, and what would be made from it again.
func TestASnapshotDependsOnNothingThatChangesLater(t *testing.T) {
	content := shop()
	draft := drafted(t, content)
	made, err := draft.Object()
	if err != nil {
		t.Fatal(err)
	}
	before := text(t, made)
	hash := hashed(t, content)
	definition(&content, "webservice", func(d *oamv1beta1.ComponentDefinition) {
		d.Spec.Schematic.CUE.Template = "output: {}"
		d.Spec.Status.HealthPolicy = ""
	})
	trait(&content, func(d *oamv1beta1.TraitDefinition) {
		d.Spec.ConflictsWith[0] = "changed"
		d.Spec.Schematic.CUE.Template = "patch: {}"
	})
	web(&content).Properties.Raw[2] = 'X'
	content.Application.Annotations["team"] = "changed"
	draft.Rendered[0].Workload["spec"] = "changed"
	if diff := cmp.Diff(before, text(t, made)); diff != "" {
		t.Fatalf("the snapshot has changed (-before +after):\n%s", diff)
	}
	read := ContentOf(stored(t, made))
	if got := hashed(t, read); got != hash {
		t.Errorf("the content of the snapshot has the hash %s, want %s", got, hash)
	}
	if diff := cmp.Diff(render(t, shop()), render(t, read)); diff != "" {
		t.Errorf("what the snapshot renders to (-then +now):\n%s", diff)
	}
}

func TestARepeatedSnapshotIsTheSameToTheByte(t *testing.T) {
	earlier, _ := deploy(t, shop(), 1, Known{})
	later, _ := deploy(t, image(0, "web:2"), 2, Known{Snapshots: list(earlier)})
	live := shop()
	live.Application.Annotations["team"] = "b"
	decided, err := History{Application: "shop", Own: list(earlier, later)}.Decide(live)
	if err != nil {
		t.Fatal(err)
	}
	again, ok := decided.(Again)
	if !ok {
		t.Fatalf("got %s, want the first one again", outcome(decided))
	}
	made, err := Repeat(again, live.Application)
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != "shop-v3" || made.Spec.Revision != 3 || made.Labels[oamv1beta1.LabelAppRevisionHash] != again.Next.RevisionHash ||
		made.Spec.Application.Annotations["team"] != "b" {
		t.Errorf("got %s", text(t, made))
	}
	if diff := cmp.Diff(text(t, earlier.Spec.ComponentRevisions), text(t, made.Spec.ComponentRevisions)); diff != "" {
		t.Errorf("component revisions (-earlier +again):\n%s", diff)
	}
	if decided, err = (History{Application: "shop", Own: list(earlier, later, stored(t, made))}).Decide(live); err != nil || outcome(decided) != "is shop-v3" {
		t.Errorf("after it: %s, %v", outcome(decided), err)
	}
}

func TestADraftThatIsNotWholeIsRefused(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*Draft)
		want   string
	}{
		"a component definition is missing":    {func(d *Draft) { delete(d.Content.Components, "worker") }, `making revision "shop-v1": there is no ComponentDefinition "worker"`},
		"a trait definition is missing":        {func(d *Draft) { delete(d.Content.Traits, "scaler") }, `making revision "shop-v1": there is no TraitDefinition "scaler"`},
		"a component has no revision":          {func(d *Draft) { d.Components = d.Components[:1] }, `making revision "shop-v1": component "jobs": it has no component revision`},
		"a component was not rendered":         {func(d *Draft) { d.Rendered = d.Rendered[:1] }, `making revision "shop-v1": component "jobs": it was not rendered`},
		"a workload is no data":                {func(d *Draft) { d.Rendered[1].Workload["a"] = func() {} }, `making revision "shop-v1": component "jobs": encoding its workload: `},
		"a resource is no data":                {func(d *Draft) { d.Rendered[0].Resources[0].Object["a"] = func() {} }, `making revision "shop-v1": component "web": encoding its resource "service": `},
		"properties of the application, ditto": {func(d *Draft) { web(&d.Content).Properties = raw("{") }, `measuring revision "shop-v1": `},
	} {
		t.Run(sentence, func(t *testing.T) {
			draft := drafted(t, shop())
			test.change(&draft)
			if got, err := draft.Object(); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v and error %v, want an error that begins with %q", got, err, test.want)
			}
		})
	}
}

func TestWhatIsTooBigNamesItsBiggestComponent(t *testing.T) {
	big := `{"a":"` + strings.Repeat("b", MaxBytes/2) + `"}`
	bigTemplate := strings.Repeat("c", MaxBytes-100_000)
	for sentence, test := range map[string]struct {
		change    func(*Draft)
		component string
		part      func(*TooBig) int
	}{
		"by its properties, and what they are rendered to": {func(d *Draft) {
			d.Content.Application.Spec.Components[1].Properties = raw(big)
			d.Rendered[1].Workload["a"] = big
		}, "jobs", func(e *TooBig) int { return min(e.Properties, e.Rendered) }},
		"by properties of a trait": {func(d *Draft) {
			web(&d.Content).Traits[0].Properties = raw(`{"a":"` + strings.Repeat("b", MaxBytes) + `"}`)
		},
			"web", func(e *TooBig) int { return e.Properties }},
		"by the objects of its traits": {func(d *Draft) { d.Rendered[0].Resources[0].Object["a"] = strings.Repeat("d", MaxBytes) },
			"web", func(e *TooBig) int { return e.Rendered }},
		"by its definitions": {func(d *Draft) {
			definition(&d.Content, "worker", func(c *oamv1beta1.ComponentDefinition) { c.Spec.Schematic.CUE.Template = bigTemplate })
			web(&d.Content).Properties = raw(`{"a":"` + strings.Repeat("b", 200_000) + `"}`)
		}, "jobs", func(e *TooBig) int { return e.Definitions }},
	} {
		t.Run(sentence, func(t *testing.T) {
			draft := drafted(t, shop())
			test.change(&draft)
			_, err := draft.Object()
			var tooBig *TooBig
			if !errors.As(err, &tooBig) {
				t.Fatalf("got error %v, want that it is too big", err)
			}
			if tooBig.Component != test.component || tooBig.Revision != "shop-v1" || tooBig.Bytes <= MaxBytes || test.part(tooBig) < MaxBytes/2 {
				t.Errorf("got %+v, want component %s, and most in its part", *tooBig, test.component)
			}
			for _, part := range []string{`revision "shop-v1" has `, "and 1500000 can be stored", `the biggest component is "` + test.component + `"`} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %s", part, err)
				}
			}
		})
	}
}
