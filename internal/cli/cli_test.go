// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/builders"
)

// writes is a buffer that is written by a command and read by a test.
type writes struct {
	mu  sync.Mutex
	buf bytes.Buffer
	on  func(all string)
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	n, err := w.buf.Write(p)
	all := w.buf.String()
	w.mu.Unlock()
	if w.on != nil {
		w.on(all)
	}
	return n, err
}

func (w *writes) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

type run struct {
	out, errOut writes
	client      client.WithWatch
	clock       clock.WithTicker
	// noResize: the cluster cannot resize living pods. askError: it does not say.
	noResize bool
	askError error
	// in is what the command reads.
	in string
}

func newRun(t *testing.T, objects ...client.Object) *run {
	t.Helper()
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	return &run{
		clock: clocktesting.NewFakeClock(builders.Epoch().Add(180e9)),
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
			WithStatusSubresource(&kruisev1alpha1.CloneSet{}, &kruisev1beta1.StatefulSet{}, &cafev1alpha1.CafeDeployment{}, &cafev1alpha1.InPlaceSet{},
				&rolloutv1alpha1.RolloutTrait{}).
			WithIndex(&rolloutv1alpha1.RolloutTrait{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
			WithIndex(&oamv1beta1.AppRollout{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
			WithIndex(&corev1.Event{}, eventsOf, func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).
			WithIndex(&cafev1alpha1.CafeDeployment{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
			WithIndex(&kruisev1alpha1.CloneSet{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
			WithIndex(&kruisev1beta1.StatefulSet{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
			Build(),
	}
}

// says runs a command, and compares its exit status and parts of what it prints.
func (r *run) says(t *testing.T, status int, parts []string, args ...string) {
	t.Helper()
	err := r.execute(t.Context(), t, args...)
	if got := ExitStatus(err); got != status {
		t.Errorf("status %d, want %d; error %v", got, status, err)
	}
	for _, want := range parts {
		if !strings.Contains(r.out.String(), want) {
			t.Errorf("does not say %q:\n%s", want, r.out.String())
		}
	}
}

func (r *run) execute(ctx context.Context, t *testing.T, args ...string) error {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],
		"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	root := New(Environment{
		Streams: genericiooptions.IOStreams{In: strings.NewReader(r.in), Out: &r.out, ErrOut: &r.errOut},
		Getenv:  func(string) string { return "" },
		Clock:   r.clock,
		Version: "v0.1",
		Program: "slipway",
		Connect: func(*genericclioptions.ConfigFlags, string) (client.WithWatch, error) { return r.client, nil },

		OffersResize: func(*genericclioptions.ConfigFlags, string) (bool, error) { return !r.noResize, r.askError },
	})
	root.SetArgs(append([]string{"--kubeconfig", kubeconfig}, args...))
	return root.ExecuteContext(ctx)
}

func settledSet(name string) *kruisev1alpha1.CloneSet {
	set := builders.CloneSet(name).Replicas(1).Build()
	set.Labels = map[string]string{"team": name}
	set.Status = kruisev1alpha1.CloneSetStatus{ObservedGeneration: 1, Replicas: 1, AvailableReplicas: 1, UpdatedReplicas: 1,
		ReadyReplicas: 1, UpdateRevision: name + "-one", CurrentRevision: name + "-one"}
	return set
}

func settledStatefulSet(name string) *kruisev1beta1.StatefulSet {
	set := builders.StatefulSet(name).Replicas(1).Claim("data", "1Gi").Build()
	set.Status = kruisev1beta1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 1, AvailableReplicas: 1, UpdatedReplicas: 1,
		ReadyReplicas: 1, UpdateRevision: name + "-one", CurrentRevision: name + "-one"}
	return set
}

func world() []client.Object {
	web, api, db := settledSet("web"), settledSet("api"), settledStatefulSet("db")
	api.Namespace = "other"
	return []client.Object{web, api, builders.OwnedPod(web, "p1", "one").Build(), db, builders.MemberPod(db, 0, "db-one").Build()}
}

func TestOutput(t *testing.T) {
	for sentence, test := range map[string]struct {
		args        []string
		out, errOut string
	}{
		"a table of one namespace": {[]string{"get", "cloneset"},
			"NAME   DESIRED  UPDATED  READY  AVAILABLE  AGE  STATUS\n" +
				"✔ web  1        1        1      1          3m   released: 1 of 1 pods updated and available\n", ""},
		"a table of all namespaces, in ASCII, by an alias": {[]string{"get", "clone", "-A", "--ascii"},
			"NAMESPACE  NAME  DESIRED  UPDATED  READY  AVAILABLE  AGE  STATUS\n" +
				"+ default  web   1        1        1      1          3m   released: 1 of 1 pods updated and available\n" +
				"+ other    api   1        1        1      1          3m   released: 1 of 1 pods updated and available\n", ""},
		"names for programs":     {[]string{"get", "clonesets", "-A", "-o", "name"}, "cloneset.apps.kruise.io/web\ncloneset.apps.kruise.io/api\n", ""},
		"one field for programs": {[]string{"get", "cloneset", "web", "-o", "jsonpath={.kind} {.status.updateRevision}"}, "CloneSet web-one", ""},
		"chosen by labels":       {[]string{"get", "cloneset", "-A", "-l", "team=api", "-o", "name"}, "cloneset.apps.kruise.io/api\n", ""},
		"nothing in a namespace": {[]string{"get", "cloneset", "-n", "empty"}, "", "No CloneSets in namespace \"empty\"; -A looks in all namespaces.\n"},
		"nothing by labels":      {[]string{"get", "cloneset", "-l", "team=x"}, "", "No CloneSets in namespace \"default\" match team=x.\n"},
		"nothing by labels, all": {[]string{"get", "cloneset", "-A", "-l", "team=x"}, "", "No CloneSets match team=x.\n"},
		"the version":            {[]string{"version"}, "", ""},
		"one set, with what it owns": {[]string{"get", "cloneset", "web"},
			"✔ CloneSet default/web  released: 1 of 1 pods updated and available\n" +
				"  pods      1 wanted, 1 exist, 1 updated, 1 ready, 1 available\n" +
				"  strategy  ReCreate, at most 1 unavailable, partition 0\n\n" +
				"POD             STATE        READY  RESTARTS  AGE   IP  NODE\n" +
				"└─ revision one (current)  1 pod, 1 available\n" +
				"   └─ ✔ web-p1  Available    1/1    0         3m    -   node-1\n", ""},
		"a table of StatefulSets, by a short name": {[]string{"get", "sts"},
			"NAME  DESIRED  UPDATED  READY  AVAILABLE  AGE  STATUS\n" +
				"✔ db  1        1        1      1          3m   released: 1 of 1 pods updated and available\n", ""},
		"StatefulSets for programs, by the full name": {[]string{"get", "statefulsets.apps.kruise.io", "-o", "name"}, "statefulset.apps.kruise.io/db\n", ""},
		"no StatefulSets": {[]string{"get", "asts", "-n", "empty"}, "", "No StatefulSets in namespace \"empty\"; -A looks in all namespaces.\n"},
		"one StatefulSet, with what it owns and its claims": {[]string{"get", "statefulset", "db"},
			"✔ StatefulSet default/db  released: 1 of 1 pods updated and available\n" +
				"  pods      1 wanted, 1 exist, 1 updated, 1 ready, 1 available\n" +
				"  strategy  OrderedReady, ReCreate, at most 1 unavailable, partition 0\n" +
				"  ordinals  0 wanted\n\n" +
				"POD           STATE        READY  RESTARTS  AGE   IP  NODE\n" +
				"└─ revision one (current)  1 pod, 1 available\n" +
				"   └─ ✔ db-0  Available    1/1    0         3m    -   node-1\n" +
				"      └─ claim data-db-0  missing\n", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t, world()...)
			if err := r.execute(t.Context(), t, test.args...); err != nil {
				t.Fatal(err)
			}
			if test.args[0] == "version" {
				if !strings.HasPrefix(r.out.String(), "slipway v0.1 (go") {
					t.Errorf("version is %q", r.out.String())
				}
				return
			}
			if diff := cmp.Diff(test.out, r.out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.errOut, r.errOut.String()); diff != "" {
				t.Errorf("error output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown set names the namespace and -A": {[]string{"get", "cloneset", "lost", "-n", "other"},
			"no CloneSet \"lost\" in namespace \"other\"; `slipway get cloneset -A` lists those of all namespaces"},
		"also when it is watched":        {[]string{"get", "cloneset", "lost", "-w"}, "no CloneSet \"lost\" in namespace \"default\""},
		"also when printed for programs": {[]string{"get", "cloneset", "lost", "-o", "yaml"}, "no CloneSet \"lost\""},
		"an unknown StatefulSet too": {[]string{"get", "sts", "lost"},
			"no StatefulSet \"lost\" in namespace \"default\"; `slipway get statefulset -A` lists those of all namespaces"},
		"an unknown kind":                   {[]string{"get", "deployment"}, `slipway get does not know "deployment", only: app, approllout, cafe, cloneset, inplaceset, rollout, rollouttrait, statefulset`},
		"an unknown command":                {[]string{"delete"}, `slipway does not know "delete"`},
		"a name and -A":                     {[]string{"get", "cloneset", "web", "-A"}, "use either NAME or -A"},
		"a name and -l":                     {[]string{"get", "cloneset", "web", "-l", "a=b"}, "use either NAME or -l"},
		"labels that cannot be read":        {[]string{"get", "cloneset", "-l", "a in b"}, "reading -l"},
		"an unknown format":                 {[]string{"get", "cloneset", "-o", "xml"}, `unable to match a printer suitable for the output format "xml"`},
		"a watch for programs":              {[]string{"get", "cloneset", "-w", "-o", "json"}, "-o json prints once"},
		"settling of nothing in particular": {[]string{"get", "cloneset", "--until-settled"}, "--until-settled needs the NAME"},
		"a timeout for nothing":             {[]string{"get", "cloneset", "web", "--timeout", "5s"}, "--timeout goes with --until-settled"},
		"a negative timeout":                {[]string{"get", "cloneset", "web", "--until-settled", "--timeout", "-5s"}, "cannot be negative"},
		"two names":                         {[]string{"get", "cloneset", "a", "b"}, "at most 1 arg"},
		"a kubeconfig that is not there":    {[]string{"--kubeconfig", "/does/not/exist", "get", "cloneset"}, "/does/not/exist"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := newRun(t, world()...).execute(t.Context(), t, test.args...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestErrorsOfTheClusterAreExplained(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	notInstalled := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Group: "apps.kruise.io", Resource: "clonesets"}, "web", "404 page not found", 0, true)
	for sentence, test := range map[string]struct {
		err  error
		want string
	}{
		"forbidden says what is needed":     {apierrors.NewForbidden(pods, "", errors.New("no")), "needs get, list and watch of clonesets.apps.kruise.io, pods and controllerrevisions.apps"},
		"nobody answers":                    {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, "cannot reach the API server"},
		"no such kind is not no such set":   {notInstalled, "their CustomResourceDefinition is not installed"},
		"credentials that are not accepted": {apierrors.NewUnauthorized("no"), "does not accept these credentials"},
		"anything else stays as it is":      {errors.New("odd"), "odd"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t, world()...)
			r.client = interceptor.NewClient(r.client, interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return test.err
				},
			})
			err := r.execute(t.Context(), t, "get", "cloneset", "web")
			if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestUntilSettled(t *testing.T) {
	ctx := t.Context()
	web := settledSet("web")
	web.Generation = 2
	r := newRun(t, web, builders.OwnedPod(web, "p1", "one").Build())
	r.out.on = func(all string) {
		// What follows happens once the first state has been shown.
		if !strings.HasSuffix(all, "newest spec\n") {
			return
		}
		var set kruisev1alpha1.CloneSet
		if err := r.client.Get(ctx, types.NamespacedName{Namespace: web.Namespace, Name: "web"}, &set); err != nil {
			t.Error(err)
			return
		}
		set.Status.ObservedGeneration = 2
		if err := r.client.Status().Update(ctx, &set); err != nil {
			t.Error(err)
		}
	}
	if err := r.execute(ctx, t, "get", "cloneset", "web", "--until-settled"); err != nil {
		t.Fatal(err)
	}
	want := "00:03:00 default/web waiting for the controller to look at the newest spec\n" +
		"00:03:00 default/web released: 1 of 1 pods updated and available\n"
	if diff := cmp.Diff(want, r.out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestAStatefulSetSettlesWhenItsPodComes(t *testing.T) {
	ctx := t.Context()
	db := settledStatefulSet("db")
	r := newRun(t, db)
	r.out.on = func(all string) {
		if !strings.HasSuffix(all, "0 of 1 pods exist\n") {
			return
		}
		if err := r.client.Create(ctx, builders.MemberPod(db, 0, "db-one").Build()); err != nil {
			t.Error(err)
		}
	}
	if err := r.execute(ctx, t, "get", "sts", "db", "--until-settled"); err != nil {
		t.Fatal(err)
	}
	want := "00:03:00 default/db scaling: 0 of 1 pods exist\n" +
		"00:03:00 default/db released: 1 of 1 pods updated and available\n" +
		"00:03:00 db-0 is new: Available, revision one\n"
	if diff := cmp.Diff(want, r.out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestWatchEnds(t *testing.T) {
	for sentence, test := range map[string]struct {
		args []string
		end  func(ctx context.Context, cancel context.CancelFunc, r *run) error
		want string
	}{
		"with status 0 on ctrl-c": {
			args: []string{"web", "-w"},
			end:  func(_ context.Context, cancel context.CancelFunc, _ *run) error { cancel(); return nil },
		},
		"the table too": {
			args: []string{"-w"},
			end:  func(_ context.Context, cancel context.CancelFunc, _ *run) error { cancel(); return nil },
		},
		"with an error when it was to settle": {
			args: []string{"web", "--until-settled"},
			end:  func(_ context.Context, cancel context.CancelFunc, _ *run) error { cancel(); return nil },
			want: "interrupted before CloneSet default/web was settled: waiting for the controller",
		},
		"with an error after the timeout": {
			args: []string{"web", "--until-settled", "--timeout", "1m"},
			end: func(_ context.Context, _ context.CancelFunc, r *run) error {
				r.clock.(*clocktesting.FakeClock).Step(60e9)
				return nil
			},
			want: "CloneSet default/web is not settled after 1m0s: waiting for the controller",
		},
		"with an error when the set is deleted": {
			args: []string{"web", "-w"},
			end: func(ctx context.Context, _ context.CancelFunc, r *run) error {
				return r.client.Delete(ctx, settledSet("web"))
			},
			want: "the CloneSet has been deleted",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			web := settledSet("web")
			web.Generation = 2
			r := newRun(t, web)
			var once sync.Once
			r.out.on = func(string) {
				once.Do(func() {
					if err := test.end(ctx, cancel, r); err != nil {
						t.Error(err)
					}
				})
			}
			err := r.execute(ctx, t, append([]string{"get", "cloneset"}, test.args...)...)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestCompletionKnowsTheSets(t *testing.T) {
	r := newRun(t, world()...)
	if err := r.execute(t.Context(), t, "__complete", "get", "cloneset", "w"); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(r.out.String(), "web\n") {
		t.Errorf("suggested %q, want web", r.out.String())
	}
}

func TestProgram(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/slipway": "slipway", "slipway": "slipway", "/x/kubectl-slipway": "kubectl slipway", `C:\bin\kubectl-slipway.exe`: "kubectl slipway",
	} {
		if got := Program(path); got != want {
			t.Errorf("%s is called %q, want %q", path, got, want)
		}
	}
}
