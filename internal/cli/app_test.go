// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway.dev/slipway/test/golden"
)

func TestDefinitions(t *testing.T) {
	for sentence, test := range map[string]struct {
		args   []string
		in     string
		status int
		golden string
	}{
		"the parameters of a shipped component":      {args: []string{"def", "show", "webservice"}, golden: "def-show-webservice"},
		"the parameters of a shipped trait":          {args: []string{"def", "show", "hpa"}, golden: "def-show-hpa"},
		"a definition in a file":                     {args: []string{"def", "show", "testdata/definitions/shopfront.cue"}, golden: "def-show-file"},
		"a definition in a directory":                {args: []string{"def", "show", "quiet", "--definitions", "testdata/definitions"}, golden: "def-show-directory"},
		"definitions that are right":                 {args: []string{"def", "vet", "testdata/definitions/shopfront.cue", "testdata/definitions/quiet.yaml"}, golden: "def-vet-right"},
		"definitions that are wrong":                 {args: []string{"def", "vet", "testdata/broken-definitions.yaml"}, status: ExitError, golden: "def-vet-wrong"},
		"definitions as manifests":                   {args: []string{"def", "render", "testdata/definitions/shopfront.cue", "testdata/definitions/quiet.yaml", "-n", "market"}, golden: "def-render"},
		"a definition from standard input":           {args: []string{"def", "vet", "-"}, in: "apiVersion: core.oam.dev/v1beta1\nkind: TraitDefinition\nmetadata: {name: a}\nspec: {schematic: {cue: {template: \"x: 1\"}}}", status: ExitError, golden: "def-vet-standard-input"},
		"an application with definitions of its own": {args: []string{"app", "render", "-f", "testdata/shop.yaml", "--definitions", "testdata/definitions"}, golden: "app-render"},
		"a later revision in another namespace":      {args: []string{"app", "render", "-f", "../../examples/applications/expose.yaml", "--revision", "7", "-n", "market"}, golden: "app-render-revision"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t)
			r.in = test.in
			err := r.execute(t.Context(), t, test.args...)
			if got := ExitStatus(err); got != test.status || err != nil && !IsTold(err) {
				t.Errorf("exit status %d (%v), want %d", got, err, test.status)
			}
			golden.Text(t, test.golden+".txt", r.out.String()+prefixed("stderr: ", r.errOut.String()))
		})
	}
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func TestApplicationsThatCannotBeRendered(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.cue")
	if err := os.WriteFile(broken, []byte("shop: {type: \"part\"}\ntemplate: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		args []string
		want []string
	}{
		"each thing that is wrong is told": {[]string{"app", "render", "-f", "testdata/broken-shop.yaml", "--definitions", "testdata/definitions"}, []string{
			`application "shop" cannot be rendered:`,
			`component "front": properties.size: is missing: use one of "small", "large"`,
			`component "orders": properties.imagee: is no property: use one of`,
		}},
		"a type that there is not":      {[]string{"app", "render", "-f", "testdata/broken-shop.yaml"}, []string{`component "front": type: there is no ComponentDefinition "shopfront" in the shipped definitions, --definitions and the manifest: use one of`}},
		"no file":                       {[]string{"app", "render"}, []string{"give the manifest to render: -f FILE"}},
		"a file that is not there":      {[]string{"app", "render", "-f", "lost.yaml"}, []string{"lost.yaml"}},
		"a file with no application":    {[]string{"app", "render", "-f", "testdata/definitions/quiet.yaml"}, []string{"holds no Application"}},
		"a revision below the first":    {[]string{"app", "render", "-f", "testdata/shop.yaml", "--revision", "0"}, []string{"--revision is 1 or more"}},
		"a directory that is not there": {[]string{"app", "render", "-f", "testdata/shop.yaml", "--definitions", "lost"}, []string{"lost"}},
		"a name that nobody knows":      {[]string{"def", "show", "webservise"}, []string{`there is no definition "webservise", and no such file; known are advanced-statefulset, annotations,`}},
		"a file with no definition":     {[]string{"def", "vet", "testdata/shop.yaml"}, []string{"holds neither a ComponentDefinition nor a TraitDefinition"}},
		"a head that is wrong":          {[]string{"def", "show", broken}, []string{"broken.cue: shop: ", "a head has type"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t)
			err := r.execute(t.Context(), t, test.args...)
			if err == nil || IsTold(err) {
				t.Fatalf("error %v, want one to print", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error:\n%s\nwant in it: %s", err, want)
				}
			}
			if r.out.String() != "" {
				t.Errorf("something is printed all the same:\n%s", r.out.String())
			}
		})
	}
}
