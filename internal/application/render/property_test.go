// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/render"
)

// drawComponent draws a component with properties and traits that are right.
func drawComponent(t *rapid.T) oamv1beta1.ApplicationComponent {
	text := rapid.StringMatching(`[a-z][a-z0-9]{0,5}`)
	texts := rapid.MapOfN(text, text, 0, 6)
	properties := map[string]any{
		"image": text.Draw(t, "image"), "labels": texts.Draw(t, "labels"), "annotations": texts.Draw(t, "annotations"),
		"cmd": rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "cmd"),
	}
	if rapid.Bool().Draw(t, "has cpu") {
		properties["cpu"] = rapid.Float64Range(0.1, 8).Draw(t, "cpu")
	}
	var env []any
	for name, value := range rapid.MapOfN(text, rapid.String(), 0, 5).Draw(t, "env") {
		env = append(env, map[string]any{"name": name, "value": value})
	}
	properties["env"] = env
	if env == nil {
		delete(properties, "env")
	}
	c := oamv1beta1.ApplicationComponent{Name: "web", Type: rapid.SampledFrom([]string{"webservice", "worker", "cloneset", "daemon"}).Draw(t, "type"), Properties: encode(properties)}
	if rapid.Bool().Draw(t, "has labels") {
		c.Traits = append(c.Traits, oamv1beta1.ApplicationTrait{Type: "annotations", Properties: encode(map[string]any{"x/" + text.Draw(t, "key"): rapid.String().Draw(t, "value")})})
	}
	if rapid.Bool().Draw(t, "has env") {
		c.Traits = append(c.Traits, oamv1beta1.ApplicationTrait{Type: "env", Properties: encode(map[string]any{"env": rapid.MapOfN(text, rapid.String(), 0, 5).Draw(t, "more env")})})
	}
	if rapid.Bool().Draw(t, "has a sidecar") {
		c.Traits = append(c.Traits, oamv1beta1.ApplicationTrait{Type: "sidecar", Properties: encode(map[string]any{"name": "side", "image": text.Draw(t, "image of the sidecar")})})
	}
	return c
}

func encode(v any) *runtime.RawExtension {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return &runtime.RawExtension{Raw: raw}
}

func TestTheSameComponentRendersToTheSameBytes(t *testing.T) {
	definitions := shipped(t)
	rapid.Check(t, func(t *rapid.T) {
		c := drawComponent(t)
		var first string
		for i := range 2 {
			result, err := renderAll(c, definitions)
			if err != nil {
				t.Fatalf("rendering %s with %s: %v", c.Type, c.Properties.Raw, err)
			}
			raw, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = string(raw)
			} else if diff := cmp.Diff(first, string(raw)); diff != "" {
				t.Fatalf("the second time it is different (-first +now):\n%s", diff)
			}
		}
	})
}

// TestTextReachesTheObjectAsItIs: what a user writes is data, also where it looks like CUE.
func TestTextReachesTheObjectAsItIs(t *testing.T) {
	definitions := shipped(t)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`\(context.name)`, `"`, `\`, "'''", `"""`, "\u2028", "#\"", "a\nb", "\x00"})).Draw(t, "text")
		result, err := renderAll(oamv1beta1.ApplicationComponent{Name: "web", Type: "worker", Properties: encode(map[string]any{"image": want})}, definitions)
		if err != nil {
			t.Fatalf("text %q: %v", want, err)
		}
		if got := imageOf(result); got != want {
			t.Errorf("text %q arrives as %q", want, got)
		}
	})
}

func imageOf(result render.Result) any {
	spec := result.Workload["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	return spec["containers"].([]any)[0].(map[string]any)["image"]
}

func TestNumbersStayWhatTheyAre(t *testing.T) {
	definitions := render.Definitions{Components: map[string]oamv1beta1.ComponentDefinition{"mine": {Spec: oamv1beta1.ComponentDefinitionSpec{
		Workload:  oamv1beta1.WorkloadType{Definition: oamv1beta1.WorkloadGVK{APIVersion: "apps/v1", Kind: "Deployment"}},
		Schematic: oamv1beta1.Schematic{CUE: oamv1beta1.CUE{Template: "output: {apiVersion: \"apps/v1\", kind: \"Deployment\", spec: parameter}\nparameter: n: number"}},
	}}}}
	for text, want := range map[string]any{"3": int64(3), "3.0": 3.0, "9007199254740993": int64(9007199254740993), "0.1": 0.1, "-1": int64(-1), "1e3": 1000.0} {
		t.Run(text, func(t *testing.T) {
			result, err := renderAll(oamv1beta1.ApplicationComponent{Name: "web", Type: "mine", Properties: &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"n": %s}`, text)}}, definitions)
			if err != nil {
				t.Fatal(err)
			}
			if got := result.Workload["spec"].(map[string]any)["n"]; got != want {
				t.Errorf("%s becomes %v, a %T; want %v, a %T", text, got, got, want, want)
			}
		})
	}
}
