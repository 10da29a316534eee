// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"slipway.dev/slipway/internal/application/render"
)

// TestMain is a worker when it is started as one.
func TestMain(m *testing.M) {
	if IsAsked(os.Args) {
		os.Exit(serve(clock.RealClock{}, 1500*time.Millisecond)) // half, so that the tests end soon
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

// hostile templates, with what is said of them. Which limit is reached first is certain for two of them only.
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
`, "needs more than the 128 MiB of memory"},
	"choices that are multiplied": {choices(20), "tried again when"},
	"data that doubles":           {doubling(40), `definition "webservice"`},
	"a list that is long": {`
import "list"
output: {apiVersion: "apps/v1", kind: "Deployment", spec: list.Repeat(list.Repeat([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 1000), 10000)}
`, "tried again when"},
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

func TestAWorkerAnswersLikeTheRendererItself(t *testing.T) {
	p := newPool(t)
	for sentence, r := range map[string]render.Request{
		"what is right":                     request(good),
		"what is wrong":                     request("output: 3"),
		"a crash of CUE or an error, alike": request("output: len(3)"),
	} {
		t.Run(sentence, func(t *testing.T) {
			want, wantErr := render.Evaluate(r, nil)
			for range 3 {
				got, err := p.Render(t.Context(), r)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("error %v, want %v", err, wantErr)
				}
			}
		})
	}
	health := render.HealthRequest{Component: "web", Type: "webservice", HealthPolicy: "isHealth: context.output.n == 3", Output: map[string]any{"n": int64(3)}}
	if got, err := p.Judge(t.Context(), health); err != nil || !got.Healthy {
		t.Errorf("health %v, %v; want healthy", got, err)
	}
}

func TestTheTraitThatDoesNotEndIsNamed(t *testing.T) {
	r := request(good)
	r.Component.Traits = []render.Trait{
		{Type: "fine", Template: "patch: spec: x: 1"},
		{Type: "bad", Template: "import \"list\"\nr: list.Range(0, 100000, 1)\npatch: spec: y: [for a in r for b in r for c in r if a+b+c < 0 {a}]"},
	}
	_, err := newPool(t).Render(t.Context(), r)
	if want := `component "web": trait "bad": template: does not end within 3s of processor time`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestAHealthPolicyThatDoesNotEndIsNamed(t *testing.T) {
	_, err := newPool(t).Judge(t.Context(), render.HealthRequest{Component: "web", Type: "webservice",
		HealthPolicy: "import \"list\"\nr: list.Range(0, 100000, 1)\nisHealth: len([for a in r for b in r for c in r if a+b+c < 0 {a}]) == 0"})
	if want := `component "web": definition "webservice": status: does not end`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestWhatWasGivenUpIsNotTriedAgain(t *testing.T) {
	p := newPool(t)
	bad := request(hostile["text that is multiplied"].template)
	_, first := p.Render(t.Context(), bad)
	p.Close() // whoever asks a worker now gets another error
	if _, again := p.Render(t.Context(), bad); first == nil || fmt.Sprint(again) != first.Error() {
		t.Errorf("the second time %v, the first time %v", again, first)
	}
	bad.Component.Properties = []byte(`{"x": 1}`)
	if _, changed := p.Render(t.Context(), bad); changed == nil || changed.Error() == first.Error() {
		t.Errorf("changed it is not tried again: %v", changed)
	}
}

func TestOnlySoMuchIsRemembered(t *testing.T) {
	p := newPool(t)
	for i := range 2 * maxRefused {
		p.remember([32]byte{byte(i), byte(i >> 8)}, errors.New("refused"))
	}
	if len(p.refused) != maxRefused || len(p.order) != maxRefused {
		t.Errorf("%d refusals are remembered in an order of %d, want %d", len(p.refused), len(p.order), maxRefused)
	}
	if p.remembered([32]byte{0, 0}) != nil || p.remembered([32]byte{byte((2*maxRefused - 1) % 256), byte((2*maxRefused - 1) >> 8)}) == nil {
		t.Error("the oldest is to be forgotten, and the newest to be kept")
	}
}

func TestAWorkerThatWasKilledWhileItWaitedIsReplaced(t *testing.T) {
	p := newPool(t)
	if _, err := p.Render(t.Context(), request(good)); err != nil {
		t.Fatal(err)
	}
	if err := p.waiting[0].command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Render(t.Context(), request(good)); err != nil {
		t.Errorf("the next request fails: %v", err)
	}
}

func TestARequestEndsWithItsContext(t *testing.T) {
	p := newPool(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Render(ctx, request(good))
	if !errors.Is(err, context.Canceled) || render.ProblemsOf(err) != nil {
		t.Errorf("error %v, want that of the context", err)
	}
	if _, err := p.Render(t.Context(), request(good)); err != nil {
		t.Errorf("the same request afterwards: %v", err)
	}
}

func TestManyAskAtTheSameTime(t *testing.T) {
	p := newPool(t)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			r := request(good)
			r.Component.Properties = fmt.Appendf(nil, `{"n": %d}`, i)
			result, err := p.Render(t.Context(), r)
			if err != nil {
				t.Errorf("request %d: %v", i, err)
			} else if got := result.Workload["spec"].(map[string]any)["replicas"]; got != int64(i) {
				t.Errorf("request %d has the answer of %v", i, got)
			}
		})
	}
	all.Wait()
	if n := len(p.waiting); n < 1 || n > Size {
		t.Errorf("%d workers wait, want 1 to %d", n, Size)
	}
}

func TestAWorkerKnowsNothingOfTheManager(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	p := newPool(t)
	if _, err := p.Render(t.Context(), request(good)); err != nil {
		t.Fatal(err)
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.waiting[0].command.Process.Pid))
	if err != nil {
		t.Skipf("only Linux shows the environment of a process: %v", err)
	}
	if diff := cmp.Diff([]string{"GOMAXPROCS=2", "GOTRACEBACK=none", ""}, strings.Split(string(environment), "\x00")); diff != "" {
		t.Errorf("its environment (-want +got):\n%s", diff)
	}
	if open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.waiting[0].command.Process.Pid)); err != nil || len(open) < 3 {
		t.Errorf("its files are %v, %v", open, err)
	} else {
		for _, file := range open {
			if to, err := os.Readlink(file); err == nil && !strings.HasPrefix(to, "pipe:") && !strings.HasPrefix(to, "anon_inode:") && to != "/dev/null" && !strings.HasPrefix(to, "/sys/") {
				t.Errorf("it has %s open", to)
			}
		}
	}
}

func TestIdleWorkersAreEnded(t *testing.T) {
	p := newPool(t)
	fake := clocktesting.NewFakeClock(time.Unix(0, 0))
	p.clock = fake
	if _, err := p.Render(t.Context(), request(good)); err != nil {
		t.Fatal(err)
	}
	w := p.waiting[0]
	fake.Step(idleTime - time.Second)
	if p.rest(); len(p.waiting) != 1 {
		t.Fatal("a worker is ended too early")
	}
	fake.Step(time.Second)
	if p.rest(); len(p.waiting) != 0 || w.command.ProcessState == nil {
		t.Errorf("%d workers wait, and the state of the idle one is %v; want it to be gone", len(p.waiting), w.command.ProcessState)
	}
	if _, err := p.Render(t.Context(), request(good)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAWorkerEndsWhenNobodyAsksAnyMore(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := start(program)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(question{Render: &render.Request{Component: request(hostile["loops in loops"].template).Component}})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeRaw(w.in, raw); err != nil {
		t.Fatal(err)
	}
	if err := w.in.Close(); err != nil { // what happens to it when the manager is killed, in the middle of an evaluation
		t.Fatal(err)
	}
	if err := w.command.Wait(); err != nil {
		t.Errorf("the worker ended by %v", err)
	}
}

func TestAFileThatIsNoWorkerIsAnError(t *testing.T) {
	p := New("/does/not/exist", clock.RealClock{})
	if _, err := p.Render(t.Context(), request(good)); err == nil || render.ProblemsOf(err) != nil {
		t.Errorf("error %v, want one that names the file and blames no definition", err)
	}
}

func BenchmarkRender(b *testing.B) {
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p := New(program, clock.RealClock{})
	defer p.Close()
	for b.Loop() {
		if _, err := p.Render(b.Context(), request(good)); err != nil {
			b.Fatal(err)
		}
	}
}
