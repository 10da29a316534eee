// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"slipway.dev/slipway/internal/application/render"
)

// TestMain is a worker when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Argument {
		os.Exit(Main(clock.RealClock{}))
	}
	os.Exit(m.Run())
}

func newPool(t *testing.T) *Pool {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := New(program, clock.RealClock{})
	t.Cleanup(p.Close)
	return p
}

const good = `
output: {apiVersion: "apps/v1", kind: "Deployment", metadata: name: context.name, spec: replicas: parameter.n}
parameter: n: *1 | int
`

func request(template string) render.Request {
	return render.Request{Component: render.Component{Name: "web", Type: "webservice", APIVersion: "apps/v1", Kind: "Deployment", Template: template},
		Context: render.Context{Name: "web", AppName: "shop", Namespace: "default"}}
}

// doubling names data of two to the power of steps.
func doubling(steps int) string {
	b := &strings.Builder{}
	b.WriteString("a0: {x: 1, y: 2}\n")
	for i := 1; i < steps; i++ {
		fmt.Fprintf(b, "a%d: {x: a%d, y: a%d}\n", i, i-1, i-1)
	}
	fmt.Fprintf(b, "output: {apiVersion: \"apps/v1\", kind: \"Deployment\", spec: a%d}\n", steps-1)
	return b.String()
}

// choices are disjunctions that are multiplied.
func choices(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf("({a%d: 1} | {b%d: 2} | {c%d: 3})", i, i, i)
	}
	return "output: {apiVersion: \"apps/v1\", kind: \"Deployment\", spec: " + strings.Join(parts, " & ") + "}\n"
}

var hostile = map[string]struct{ template, want string }{
	"loops in loops": {`
import "list"
r: list.Range(0, 100000, 1)
output: {apiVersion: "apps/v1", kind: "Deployment", spec: [for a in r for b in r for c in r if a+b+c < 0 {a}]}
`, "does not end within 3s of processor time"},
	"text that is multiplied": {`
import "strings"
a: strings.Repeat("xxxxxxxxxx", 1000000)
output: {apiVersion: "apps/v1", kind: "Deployment", spec: strings.Repeat(a, 1000000)}
`, "needs more than the 192 MiB of memory"},
	"choices that are multiplied": {choices(20), "tried again when"},
	"data that doubles":           {doubling(40), "bytes that are allowed"},
	"a list that is long": {`
import "list"
output: {apiVersion: "apps/v1", kind: "Deployment", spec: list.Repeat(list.Repeat([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 1000), 10000)}
`, "needs more than the 192 MiB of memory"},
}

func TestHostileTemplatesAreGivenUpAndNamed(t *testing.T) {
	p := newPool(t)
	for sentence, test := range hostile {
		t.Run(sentence, func(t *testing.T) {
			_, err := p.Render(t.Context(), request(test.template))
			problems := render.ProblemsOf(err)
			if len(problems) == 0 {
				t.Fatalf("got %v, want problems", err)
			}
			for _, want := range []string{`component "web"`, test.want} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it", err, want)
				}
			}
			if result, err := p.Render(t.Context(), request(good)); err != nil || result.Workload == nil {
				t.Errorf("afterwards a good template gives %v, %v", result, err)
			}
		})
	}
}
