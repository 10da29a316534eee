// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// definition changes a definition of a component in place.
func definition(c *Content, name string, change func(*oamv1beta1.ComponentDefinition)) {
	changed := c.Components[name]
	change(&changed)
	c.Components[name] = changed
}

func trait(c *Content, change func(*oamv1beta1.TraitDefinition)) {
	changed := c.Traits["scaler"]
	change(&changed)
	c.Traits["scaler"] = changed
}

var web = func(c *Content) *oamv1beta1.ApplicationComponent { return &c.Application.Spec.Components[0] }

func TestWhatMakesARevision(t *testing.T) {
	base, err := shop().Hash()
	if err != nil {
		t.Fatal(err)
	}
	if len(base) != 16 || strings.Trim(base, "0123456789abcdef") != "" {
		t.Errorf("the hash %q is not 16 hexadecimal digits", base)
	}
	for sentence, test := range map[string]struct {
		change func(*Content)
		same   bool
	}{
		"nothing":                               {func(*Content) {}, true},
		"another property":                      {func(c *Content) { web(c).Properties = raw(`{"image":"web:2","port":80}`) }, false},
		"a property more":                       {func(c *Content) { web(c).Properties = raw(`{"image":"web:1","port":80,"a":0}`) }, false},
		"a null more, which a template can see": {func(c *Content) { web(c).Properties = raw(`{"image":"web:1","port":80,"a":null}`) }, false},
		"a text for a number":                   {func(c *Content) { web(c).Properties = raw(`{"image":"web:1","port":"80"}`) }, false},
		"properties in another order":           {func(c *Content) { web(c).Properties = raw("{\"port\" :80,\n\"image\":\"web:1\"}") }, true},
		"another spelling of a text":            {func(c *Content) { web(c).Properties = raw(`{"port":80,"image":"\u0077eb:1"}`) }, true},
		"another spelling of a number":          {func(c *Content) { web(c).Properties = raw(`{"port":80.0,"image":"web:1"}`) }, true},
		"the plan":                              {func(c *Content) { c.Application.Spec.RolloutPlan = &rolloutv1alpha1.RolloutPlan{Paused: true} }, true},
		"labels and status": {func(c *Content) {
			c.Application.Labels = map[string]string{"a": "b"}
			c.Application.Status.Phase = "running"
		}, true},
		"another type of a component":      {func(c *Content) { web(c).Type = "worker" }, false},
		"another name of a component":      {func(c *Content) { web(c).Name = "wob" }, false},
		"components in another order":      {func(c *Content) { slices.Reverse(c.Application.Spec.Components) }, false},
		"a component less":                 {func(c *Content) { c.Application.Spec.Components = c.Application.Spec.Components[:1] }, false},
		"another property of a trait":      {func(c *Content) { web(c).Traits[0].Properties = raw(`{"replicas":4}`) }, false},
		"a trait less":                     {func(c *Content) { web(c).Traits = nil }, false},
		"an empty list of traits for none": {func(c *Content) { c.Application.Spec.Components[1].Traits = []oamv1beta1.ApplicationTrait{} }, true},
		"a scope that nobody looks at":     {func(c *Content) { web(c).Scopes = map[string]string{"a": "b"} }, true},
		"another template of a component": {func(c *Content) {
			definition(c, "worker", func(d *oamv1beta1.ComponentDefinition) { d.Spec.Schematic.CUE.Template = "output: {}" })
		}, false},
		"blank lines around a template": {func(c *Content) {
			definition(c, "worker", func(d *oamv1beta1.ComponentDefinition) { d.Spec.Schematic.CUE.Template = "\noutput: worker\n\n" })
		}, true},
		"another kind of a workload": {func(c *Content) {
			definition(c, "worker", func(d *oamv1beta1.ComponentDefinition) { d.Spec.Workload.Definition.Kind = "DaemonSet" })
		}, false},
		"another health policy": {func(c *Content) {
			definition(c, "worker", func(d *oamv1beta1.ComponentDefinition) { d.Spec.Status.HealthPolicy = "isHealth: false" })
		}, false},
		"another template of a component nobody uses": {func(c *Content) {
			definition(c, "unused", func(d *oamv1beta1.ComponentDefinition) { d.Spec.Schematic.CUE.Template = "output: {}" })
		}, true},
		"metadata of a definition": {func(c *Content) {
			definition(c, "worker", func(d *oamv1beta1.ComponentDefinition) {
				d.ResourceVersion, d.Annotations, d.Generation, d.Namespace = "8", nil, 4, "store"
			})
		}, true},
		"fields of a definition that have no effect": {func(c *Content) {
			definition(c, "worker", func(d *oamv1beta1.ComponentDefinition) {
				d.Spec.PodSpecPath, d.Spec.Extension, d.Spec.Workload.Type = "a", raw(`{}`), "b"
			})
		}, true},
		"another template of a trait": {func(c *Content) {
			trait(c, func(d *oamv1beta1.TraitDefinition) { d.Spec.Schematic.CUE.Template = "patch: {}" })
		}, false},
		"a workload more for a trait": {func(c *Content) {
			trait(c, func(d *oamv1beta1.TraitDefinition) {
				d.Spec.AppliesToWorkloads = append(d.Spec.AppliesToWorkloads, "*")
			})
		}, false},
		"a conflict less": {func(c *Content) { trait(c, func(d *oamv1beta1.TraitDefinition) { d.Spec.ConflictsWith = nil }) }, false},
		"workloads in another order": {func(c *Content) {
			trait(c, func(d *oamv1beta1.TraitDefinition) {
				d.Spec.AppliesToWorkloads = []string{"webservice", "deployments.apps", "webservice"}
			})
		}, true},
		"what a trait says of itself": {func(c *Content) {
			trait(c, func(d *oamv1beta1.TraitDefinition) { d.Spec.PodDisruptive, d.Spec.ManageWorkload = true, true })
		}, true},
		"a definition that nobody uses": {func(c *Content) { delete(c.Traits, "unused"); delete(c.Components, "unused") }, true},
		"definitions swapped by name": {func(c *Content) {
			c.Components["worker"], c.Components["webservice"] = c.Components["webservice"], c.Components["worker"]
		}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := with(test.change).Hash()
			if err != nil {
				t.Fatal(err)
			}
			if (got == base) != test.same {
				t.Errorf("hash %s against %s, want the same: %v", got, base, test.same)
			}
		})
	}
}

func TestNoPropertiesAreNoDifference(t *testing.T) {
	hashes := map[string]string{}
	for sentence, properties := range map[string]string{"absent": "-", "empty": "", "an empty object": "{}", "null": "null", "with blanks": " { } "} {
		content := with(func(c *Content) {
			web(c).Properties = raw(properties)
			if properties == "-" {
				web(c).Properties = nil
			}
		})
		hash, err := content.Hash()
		if err != nil {
			t.Fatalf("%s: %v", sentence, err)
		}
		hashes[hash] = sentence
	}
	if len(hashes) != 1 {
		t.Errorf("%d hashes: %v", len(hashes), hashes)
	}
}

func TestWhatHasNoHash(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*Content)
		want   string
	}{
		"a component definition is missing":   {func(c *Content) { delete(c.Components, "worker") }, `there is no ComponentDefinition "worker"`},
		"a trait definition is missing":       {func(c *Content) { delete(c.Traits, "scaler") }, `there is no TraitDefinition "scaler"`},
		"properties are no JSON":              {func(c *Content) { web(c).Properties = raw(`{`) }, `component "web": reading its properties: `},
		"properties of a trait are no JSON":   {func(c *Content) { web(c).Traits[0].Properties = raw(`a`) }, `component "web": trait "scaler": reading its properties: `},
		"properties go on behind their end":   {func(c *Content) { web(c).Properties = raw(`{}{}`) }, `component "web": reading its properties: `},
		"an application of another time, say": {func(c *Content) { c.Components = nil }, `there is no ComponentDefinition "webservice"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			if hash, err := with(test.change).Hash(); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %q and error %v, want an error that begins with %q", hash, err, test.want)
			}
		})
	}
}

// TestTheHashIsForEver: it stands in labels and in the status of clusters, so it must not change with a version of ours.
func TestTheHashIsForEver(t *testing.T) {
	got, err := shop().Hash()
	if err != nil {
		t.Fatal(err)
	}
	if want := "9189883f1a467190"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	tree, err := shop().tree()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(tree); err != nil || !strings.HasPrefix(string(text), `{"componentDefinitions":{"webservice":{"apiVersion":"apps/v1","customStatus":"","healthPolicy":"isHealth: true"`) {
		t.Errorf("what is summed up has changed: %s, %v", text, err)
	}
}
