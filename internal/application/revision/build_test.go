// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// shop is an application with two components and a trait, and the definitions of them and of one more.
func shop() Content {
	app := &oamv1beta1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "store", Name: "shop", UID: "1",
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "team": "a"}},
		Spec: oamv1beta1.ApplicationSpec{Components: []oamv1beta1.ApplicationComponent{
			{Name: "web", Type: "webservice", Properties: raw(`{"image":"web:1","port":80}`),
				Traits: []oamv1beta1.ApplicationTrait{{Type: "scaler", Properties: raw(`{"replicas":3}`)}}},
			{Name: "jobs", Type: "worker", Properties: raw(`{"image":"jobs:1"}`)},
		}},
	}
	return Content{
		Application: app,
		Components: map[string]oamv1beta1.ComponentDefinition{
			"webservice": componentDefinition("webservice"), "worker": componentDefinition("worker"), "unused": componentDefinition("unused")},
		Traits: map[string]oamv1beta1.TraitDefinition{"scaler": traitDefinition("scaler"), "unused": traitDefinition("unused")},
	}
}

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

func componentDefinition(name string) oamv1beta1.ComponentDefinition {
	return oamv1beta1.ComponentDefinition{
		ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system", Name: name, ResourceVersion: "7", Annotations: map[string]string{"a": "b"}},
		Spec: oamv1beta1.ComponentDefinitionSpec{
			Workload:  oamv1beta1.WorkloadType{Definition: oamv1beta1.WorkloadGVK{APIVersion: "apps/v1", Kind: "Deployment"}},
			Schematic: oamv1beta1.Schematic{CUE: oamv1beta1.CUE{Template: "output: " + name}},
			Status:    &oamv1beta1.DefinitionStatus{HealthPolicy: "isHealth: true"},
		},
	}
}

func traitDefinition(name string) oamv1beta1.TraitDefinition {
	return oamv1beta1.TraitDefinition{
		ObjectMeta: metav1.ObjectMeta{Namespace: "store", Name: name},
		Spec: oamv1beta1.TraitDefinitionSpec{
			AppliesToWorkloads: []string{"deployments.apps", "webservice"}, ConflictsWith: []string{"hpa", "other"},
			Schematic: oamv1beta1.Schematic{CUE: oamv1beta1.CUE{Template: "patch: " + name}},
		},
	}
}

// deployment is a workload as a template makes it.
func deployment(name, image string, replicas int64) map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": replicas,
			"selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": image}}},
			},
		},
	}
}

// render stands for what CUE does: each component becomes a Deployment of its image, with the replicas of its first trait.
func render(t rapid.TB, content Content) []Rendered {
	t.Helper()
	var all []Rendered
	for _, component := range content.Application.Spec.Components {
		var properties, trait struct {
			Image    string `json:"image"`
			Replicas int64  `json:"replicas"`
		}
		decode(t, component.Properties, &properties)
		if len(component.Traits) > 0 {
			decode(t, component.Traits[0].Properties, &trait)
		}
		all = append(all, Rendered{Name: component.Name, Workload: deployment(component.Name, properties.Image, trait.Replicas),
			Resources: []Resource{{Name: "service", Trait: "expose", Object: map[string]any{"apiVersion": "v1", "kind": "Service",
				"metadata": map[string]any{"name": component.Name}}}}})
	}
	return all
}

func decode(t rapid.TB, from *runtime.RawExtension, into any) {
	t.Helper()
	if from == nil || len(from.Raw) == 0 {
		return
	}
	if err := json.Unmarshal(from.Raw, into); err != nil {
		t.Fatal(err)
	}
}

// stored is an object as it comes back from the API server.
func stored[T any](t rapid.TB, object *T) *T {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	read := new(T)
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	return read
}

// deploy makes a revision of the content, with its component revisions.
func deploy(t rapid.TB, content Content, number int64, known Known) (*oamv1beta1.ApplicationRevision, []Component) {
	t.Helper()
	hash, err := content.Hash()
	if err != nil {
		t.Fatal(err)
	}
	rendered := render(t, content)
	components, err := known.Components(rendered)
	if err != nil {
		t.Fatal(err)
	}
	revision, err := Draft{Content: content, Components: components, Rendered: rendered,
		Next: oamv1beta1.Revision{Name: fmt.Sprintf("shop-v%d", number), Revision: number, RevisionHash: hash}}.Object()
	if err != nil {
		t.Fatal(err)
	}
	return stored(t, revision), components
}

// with is the shop with a change.
func with(change func(*Content)) Content {
	content := shop()
	change(&content)
	return content
}

// image is the shop with another image of a component.
func image(component int, image string) Content {
	return with(func(c *Content) {
		c.Application.Spec.Components[component].Properties = raw(fmt.Sprintf(`{"image":%q,"port":80}`, image))
	})
}
