// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestPatchesAreLaidOverTheWorkload: spec is what the template of a component gives, patch that of a trait, want the spec afterwards.
func TestPatchesAreLaidOverTheWorkload(t *testing.T) {
	const pod = `template: spec: containers: [{name: "web", image: "a:v1", env: [{name: "A", value: "1"}], ports: [{containerPort: 80}]}, {name: "log", image: "l:v1"}]`
	for sentence, test := range map[string]struct{ spec, patch, want string }{
		"what is not there is added": {`a: 1`, `patch: spec: b: {c: 2}`, `{a: 1, b: {c: 2}}`},
		"what is the same stays":     {`a: 1`, `patch: spec: a: 1`, `{a: 1}`},
		"containers by their names, where they stand": {pod, `patch: spec: template: spec: containers: [{name: "log", args: ["-v"]}]`,
			`{template: {spec: {containers: [{name: web, image: "a:v1", env: [{name: A, value: "1"}], ports: [{containerPort: 80}]}, {name: log, image: "l:v1", args: [-v]}]}}}`},
		"a container that is new comes last": {pod, `patch: spec: template: spec: containers: [{name: "side", image: "s:v1"}]`,
			`{template: {spec: {containers: [{name: web, image: "a:v1", env: [{name: A, value: "1"}], ports: [{containerPort: 80}]}, {name: log, image: "l:v1"}, {name: side, image: "s:v1"}]}}}`},
		"variables and ports of a container by their keys": {pod, `patch: spec: template: spec: containers: [{name: "web", env: [{name: "B", value: "2"}], ports: [{containerPort: 80, name: "http"}, {containerPort: 81}]}]`,
			`{template: {spec: {containers: [{name: web, image: "a:v1", env: [{name: A, value: "1"}, {name: B, value: "2"}], ports: [{containerPort: 80, name: http}, {containerPort: 81}]}, {name: log, image: "l:v1"}]}}}`},
		"volumes by name and mounts by path": {`template: spec: {volumes: [{name: "a", emptyDir: {}}], containers: [{name: "web", volumeMounts: [{name: "a", mountPath: "/a"}]}]}`,
			`patch: spec: template: spec: {volumes: [{name: "a", emptyDir: {}}, {name: "b", emptyDir: {}}], containers: [{name: "web", volumeMounts: [{name: "a", mountPath: "/b"}]}]}`,
			`{template: {spec: {volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}], containers: [{name: web, volumeMounts: [{name: a, mountPath: /a}, {name: a, mountPath: /b}]}]}}}`},
		"every entry of a list": {pod, `patch: spec: template: spec: containers: [...{imagePullPolicy: "Always"}]`,
			`{template: {spec: {containers: [{name: web, image: "a:v1", env: [{name: A, value: "1"}], ports: [{containerPort: 80}], imagePullPolicy: Always}, {name: log, image: "l:v1", imagePullPolicy: Always}]}}}`},
		"a key that the comment names":          {`rules: [{host: "a"}]`, "// +patchKey=host\npatch: spec: rules: [{host: \"b\"}, {host: \"a\", x: 1}]", `{rules: [{host: a, x: 1}, {host: b}]}`},
		"a key below another field of the line": {`rules: [{host: "a"}]`, "patch: {\n\t// +patchKey=host\n\tspec: rules: [{host: \"a\", x: 1}]\n}", `{rules: [{host: a, x: 1}]}`},
		"a key that stands deeper":              {`claims: [{metadata: name: "a"}]`, "// +patchKey=metadata.name\npatch: spec: claims: [{metadata: name: \"a\", x: 1}]", `{claims: [{metadata: {name: a}, x: 1}]}`},
		"a key holds for one list":              {`rules: [{host: "a", env: [{name: "A"}]}]`, "// +patchKey=host\npatch: spec: rules: [{host: \"a\", env: [{name: \"B\"}]}]", `{rules: [{host: a, env: [{name: A}, {name: B}]}]}`},
		"a trait that is to win":                {`replicas: 2, keep: 1`, "// +patchStrategy=retainKeys\npatch: spec: replicas: 3", `{replicas: 3, keep: 1}`},
		"a trait that is to win in a container": {pod, "// +patchStrategy=retainKeys\npatch: spec: template: spec: containers: [{name: \"web\", env: [{name: \"A\", value: \"2\"}]}]",
			`{template: {spec: {containers: [{name: web, image: "a:v1", env: [{name: A, value: "2"}], ports: [{containerPort: 80}]}, {name: log, image: "l:v1"}]}}}`},
		"a trait that replaces":                     {`strategy: {type: "a", x: 1}, keep: 1`, "patch: spec: {\n\t// +patchStrategy=replace\n\tstrategy: {type: \"b\"}\n}", `{strategy: {type: b}, keep: 1}`},
		"a list without a key, place by place":      {`x: [{a: 1}, {a: 2}]`, `patch: spec: x: [{b: 1}, {b: 2}]`, `{x: [{a: 1, b: 1}, {a: 2, b: 2}]}`},
		"the beginning of a list that is left open": {`x: [{a: 1}, {a: 2}]`, `patch: spec: x: [{b: 1}, ...]`, `{x: [{a: 1, b: 1}, {a: 2}]}`},
		"a constraint that the workload keeps":      {`replicas: 3`, `patch: spec: replicas: >=2`, `{replicas: 3}`},
		"something that is asked of every field":    {`labels: {a: "x", b: "z"}`, `patch: spec: labels: [string]: =~"^[a-z]$"`, `{labels: {a: x, b: z}}`},
		"what the workload has is read":             {`replicas: 3`, `patch: spec: twice: context.output.spec.replicas * 2`, `{replicas: 3, twice: 6}`},
		"null in the workload is nothing":           {`a: null`, `patch: spec: a: b: 1`, `{a: {b: 1}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			result, err := Evaluate(Request{Component: Component{Name: "web", Type: "x", APIVersion: "v1", Kind: "X",
				Template: `output: {apiVersion: "v1", kind: "X", spec: {` + test.spec + `}}`,
				Traits:   []Trait{{Type: "t", Template: test.patch}}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(result.Workload["spec"])
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := yaml.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(wanted), string(got)); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAConstraintThatTheWorkloadBreaksIsTold(t *testing.T) {
	for sentence, patch := range map[string]string{
		"of a field":        `patch: spec: replicas: >=5`,
		"of every field":    `patch: spec: labels: [string]: =~"^[0-9]$"`,
		"of every entry":    `patch: spec: list: [...{name: =~"^z"}]`,
		"of another type":   `patch: spec: replicas: {a: 1}`,
		"of a longer list":  `patch: spec: plain: [1, 2, 3]`,
		"a list on a field": `patch: spec: replicas: [1]`,
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Evaluate(Request{Component: Component{Name: "web", Type: "x", APIVersion: "v1", Kind: "X",
				Template: `output: {apiVersion: "v1", kind: "X", spec: {replicas: 3, labels: a: "x", list: [{name: "a"}], plain: [1, 2]}}`,
				Traits:   []Trait{{Type: "t", Template: patch}}}}, nil)
			if problems := ProblemsOf(err); len(problems) != 1 || problems[0].Definition != "t" || !problems[0].IsTrait {
				t.Errorf("problems %v, want one of the trait", err)
			}
		})
	}
}

func TestTraitsSeeWhatThoseBeforeThemGave(t *testing.T) {
	result, err := Evaluate(Request{Component: Component{Name: "web", Type: "x", APIVersion: "v1", Kind: "X",
		Template: "output: {apiVersion: \"v1\", kind: \"X\"}\noutputs: first: {apiVersion: \"v1\", kind: \"Y\", n: 1}",
		Traits: []Trait{
			{Type: "one", Template: "patch: n: context.outputs.first.n + 1\noutputs: second: {apiVersion: \"v1\", kind: \"Z\", n: 10}"},
			{Type: "two", Template: "patch: m: context.output.n + context.outputs.second.n"},
		}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Workload["m"]; got != int64(12) {
		t.Errorf("m is %v, want 12", got)
	}
	if diff := cmp.Diff([]Extra{
		{Name: "first", Object: map[string]any{"apiVersion": "v1", "kind": "Y", "n": int64(1)}},
		{Name: "second", Trait: "one", Object: map[string]any{"apiVersion": "v1", "kind": "Z", "n": int64(10)}},
	}, result.Extras); diff != "" {
		t.Errorf("extras (-want +got):\n%s", diff)
	}
}

func TestTraitsThatChangePodsAndDoNotSaySo(t *testing.T) {
	for sentence, test := range map[string]struct {
		trait Trait
		warns bool
	}{
		"a patch of the pods":                 {Trait{Template: `patch: spec: template: spec: x: 1`}, true},
		"a patch of the pods, and it is said": {Trait{Template: `patch: spec: template: spec: x: 1`, PodDisruptive: true}, false},
		"a patch of something else":           {Trait{Template: `patch: spec: replicas: 1`}, false},
		"a patch that changes nothing":        {Trait{Template: `patch: spec: template: spec: y: 1`}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.trait.Type = "t"
			result, err := Evaluate(Request{Component: Component{Name: "web", Type: "x", APIVersion: "v1", Kind: "X",
				Template: `output: {apiVersion: "v1", kind: "X", spec: template: spec: y: 1}`, Traits: []Trait{test.trait}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(result.Warnings) > 0; got != test.warns {
				t.Errorf("warnings %q", result.Warnings)
			}
		})
	}
}
