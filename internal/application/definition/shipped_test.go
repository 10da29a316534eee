// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue/format"
	"sigs.k8s.io/yaml"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/config/definitions"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/test/golden"
)

const sources = "../../../config/definitions"

func TestShippedDefinitionsAreFormatted(t *testing.T) {
	err := fs.WalkDir(definitions.Sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(definitions.Sources, path)
		if err != nil {
			return err
		}
		formatted, err := format.Source(text)
		if err != nil {
			return err
		}
		golden.File(t, filepath.Join(sources, path), string(formatted))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestShippedDefinitionsRender renders the example of each definition, and compares the objects with testdata.
func TestShippedDefinitionsRender(t *testing.T) {
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	byName := ByName(all)
	for _, d := range all {
		t.Run(d.Name(), func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("../../../examples/applications", d.Name()+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var app oamv1beta1.Application
			if err := yaml.UnmarshalStrict(raw, &app); err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			used := false
			for _, component := range app.Spec.Components {
				used = used || component.Type == d.Name()
				for _, trait := range component.Traits {
					used = used || trait.Type == d.Name()
				}
				got.WriteString(rendered(t, component, byName))
			}
			if !used {
				t.Errorf("the example of %s does not use it", d.Name())
			}
			golden.Text(t, d.Name()+".yaml", got.String())
		})
	}
}

func rendered(t *testing.T, component oamv1beta1.ApplicationComponent, byName render.Definitions) string {
	t.Helper()
	request, err := render.NewRequest(component, byName, render.Context{
		Name: component.Name, AppName: "shop", Namespace: "default", AppRevision: "shop-v3", AppRevisionNum: 3, Revision: component.Name + "-v2",
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := render.Evaluate(request, nil)
	if err != nil {
		t.Fatal(err)
	}
	if result, err = render.Dress(request, result, render.ScopeWithoutCluster); err != nil {
		t.Fatal(err)
	}
	if len(result.Warnings) > 0 {
		t.Errorf("warnings %q of a shipped definition", result.Warnings)
	}
	var text strings.Builder
	objects := []map[string]any{result.Workload}
	for _, e := range result.Extras {
		objects = append(objects, e.Object)
	}
	for _, object := range objects {
		written, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(written))
	}
	return text.String()
}

// An update in the middle has pods in addition. As long as those of the older template serve, all would look well without the newer ones.
func TestAnUpdateThatKeepsOlderPodsIsNotHealthy(t *testing.T) {
	shipped, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"webservice", "worker", "cloneset"} {
		for sentence, c := range map[string]struct {
			pods int64
			want bool
		}{"one pod, and it is new": {1, true}, "a new one that is broken beside the old one": {2, false}} {
			t.Run(name+": "+sentence, func(t *testing.T) {
				health, err := render.Judge(render.HealthRequest{
					Component: "web", Type: name, HealthPolicy: ByName(shipped).Components[name].Spec.Status.HealthPolicy,
					Output: map[string]any{
						"metadata": map[string]any{"generation": int64(2)}, "spec": map[string]any{"replicas": int64(1)},
						"status": map[string]any{"observedGeneration": int64(2), "replicas": c.pods, "updatedReplicas": int64(1), "availableReplicas": int64(1)},
					},
				})
				if err != nil || health.Healthy != c.want {
					t.Errorf("healthy is %v, want %v: %v", health.Healthy, c.want, err)
				}
			})
		}
	}
}
