// SPDX-License-Identifier: Apache-2.0

package rolling_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/rollout/engine"
)

// refuse has one kind of objects refused to a reader.
func refuse(kind string, failure error) func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
	return func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
		if id, err := c.GroupVersionKindFor(o); err == nil && id.Kind == kind {
			return failure
		}
		return c.Get(ctx, key, o, options...)
	}
}

func ref(apiVersion, kind, name string) rolloutv1alpha1.WorkloadReference {
	return rolloutv1alpha1.WorkloadReference{APIVersion: apiVersion, Kind: kind, Name: name}
}

func TestWhichWorkloadsTwoRevisionsStandFor(t *testing.T) {
	cart := ref("apps.kruise.io/v1alpha1", "CloneSet", "cart")
	apart := func(name string) rolloutv1alpha1.WorkloadReference { return ref("apps/v1", "Deployment", name) }
	sets := []client.Object{revisionOf(t, "shop", 1, part{"cart", 1, set(t, "a:1"), nil}), revisionOf(t, "shop", 2, part{"cart", 2, set(t, "a:2"), nil})}
	deployments := []client.Object{revisionOf(t, "shop", 1, part{"cart", 1, deployment(t, "a:1"), nil}), revisionOf(t, "shop", 2, part{"cart", 2, deployment(t, "a:2"), nil})}
	many := []client.Object{
		revisionOf(t, "shop", 1, part{"cart", 1, set(t, "a:1"), nil}, part{"pay", 1, named(set(t, "a:1"), "pay"), nil}),
		revisionOf(t, "shop", 2, part{"pay", 1, named(set(t, "a:1"), "pay"), nil}),
	}
	for sentence, c := range map[string]struct {
		objects   []client.Object
		asks      *oamv1beta1.AppRollout
		component string
		target    rolloutv1alpha1.WorkloadReference
		source    *rolloutv1alpha1.WorkloadReference
	}{
		"a kind that holds two versions has one workload, called like the component": {sets, asking("shop-v2", "shop-v1"), "cart", cart, nil},
		"a scale has no source":                                   {sets, asking("shop-v2", "", to(3)), "cart", cart, nil},
		"the one component that both have":                        {many, asking("shop-v2", "shop-v1"), "pay", ref("apps.kruise.io/v1alpha1", "CloneSet", "pay"), nil},
		"the first one of the list":                               {many, asking("shop-v1", "", to(3), component("cart", "pay")), "cart", cart, nil},
		"Deployments are named by the revisions of the component": {deployments, asking("shop-v2", "shop-v1"), "cart", apart("cart-v2"), apartOf("cart-v1")},
		"back, they change places":                                {deployments, asking("shop-v1", "shop-v2"), "cart", apart("cart-v1"), apartOf("cart-v2")},
		"one that was deployed without a plan is called like the component": {
			append([]client.Object{deployed(deployment(t, "a:1"), 1, "cart", 1)}, deployments...), asking("shop-v2", "shop-v1"), "cart", apart("cart-v2"), apartOf("cart"),
		},
		"and stays the target of its revision": {
			append([]client.Object{deployed(deployment(t, "a:1"), 1, "cart", 1)}, deployments...), asking("shop-v1", "shop-v2"), "cart", apart("cart"), apartOf("cart-v2"),
		},
		"one that is somebody else's is none of the component's": {
			append([]client.Object{func() client.Object {
				o := deployed(deployment(t, "a:1"), 1, "cart", 1)
				o.SetOwnerReferences(nil)
				return o
			}()}, deployments...), asking("shop-v2", "shop-v1"), "cart", apart("cart-v2"), apartOf("cart-v1"),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, c.objects...)
			s, err := w.kind.Subject(t.Context(), c.asks)
			if err != nil {
				t.Fatal(err)
			}
			if s.Missing != "" {
				t.Errorf("it misses %s", s.Missing)
			}
			if got := s.Rollout.Revisions.Component; got != c.component {
				t.Errorf("its component is %q", got)
			}
			if diff := cmp.Diff(c.target, s.Rollout.Target); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.source, s.Rollout.Source); diff != "" {
				t.Errorf("source (-want +got):\n%s", diff)
			}
		})
	}
}

func apartOf(name string) *rolloutv1alpha1.WorkloadReference {
	r := ref("apps/v1", "Deployment", name)
	return &r
}

// What is missing is what the status and its conditions say: it names the revision, the component or the object.
func TestWhatIsMissingIsNamed(t *testing.T) {
	first, second := revisionOf(t, "shop", 1, part{"cart", 1, set(t, "a:1"), nil}), revisionOf(t, "shop", 2, part{"cart", 2, set(t, "a:2"), nil})
	two := revisionOf(t, "shop", 3, part{"cart", 1, set(t, "a:1"), nil}, part{"pay", 1, set(t, "a:1"), nil})
	other := revisionOf(t, "other", 1, part{"cart", 1, set(t, "a:1"), nil})
	orphan := revisionOf(t, "shop", 4, part{"cart", 1, set(t, "a:1"), nil})
	orphan.OwnerReferences = nil
	for sentence, c := range map[string]struct {
		objects []client.Object
		asks    *oamv1beta1.AppRollout
		want    string
	}{
		"the target":         {[]client.Object{first}, asking("shop-v2", "shop-v1"), "there is no ApplicationRevision shop-v2 in namespace web"},
		"the source":         {[]client.Object{second}, asking("shop-v2", "shop-v1"), "there is no ApplicationRevision shop-v1 in namespace web"},
		"the component":      {[]client.Object{first, second}, asking("shop-v2", "shop-v1", component("pay")), "ApplicationRevision shop-v2 has no component pay; it has cart"},
		"in the source only": {[]client.Object{first, two}, asking("shop-v3", "shop-v1", component("pay")), "ApplicationRevision shop-v1 has no component pay; it has cart"},
		"which of several":   {[]client.Object{two}, asking("shop-v3", "", to(3)), "spec.componentList: has to name one component, for there are several: cart, pay"},
		"one that both have": {
			[]client.Object{first, revisionOf(t, "shop", 2, part{"pay", 1, set(t, "a:1"), nil})}, asking("shop-v2", "shop-v1"), "no component is both in ApplicationRevision shop-v2 and in shop-v1",
		},
		"any at all":           {[]client.Object{revisionOf(t, "shop", 2)}, asking("shop-v2", "", to(3)), "ApplicationRevision shop-v2 has no component"},
		"the same application": {[]client.Object{other, second}, asking("shop-v2", "other-v1"), "ApplicationRevision shop-v2 is of Application shop, and other-v1 is of other: both have to be of one"},
		"whose it is":          {[]client.Object{orphan}, asking("shop-v4", "", to(3)), "ApplicationRevision shop-v4 is of no Application: it has no controller owner of that kind"},
		"a workload":           {[]client.Object{revisionOf(t, "shop", 2, part{"cart", 2, nil, nil})}, asking("shop-v2", "", to(3)), "ApplicationRevision shop-v2: component cart: its workload: there is none"},
		"a way from kind to kind": {
			[]client.Object{revisionOf(t, "shop", 1, part{"cart", 1, deployment(t, "a:1"), nil}), second}, asking("shop-v2", "shop-v1"),
			"component cart is a Deployment in shop-v1 and a CloneSet in shop-v2: pods cannot go from one to the other in batches; deploy it without a rolloutPlan",
		},
		"who rolls out the kind": {
			[]client.Object{revisionOf(t, "shop", 2, part{"cart", 2, object(t, "apps/v1", "ReplicaSet", "cart", podSpec(4, "a:1")), nil})}, asking("shop-v2", "", to(3)), "ReplicaSet",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, append(c.objects, c.asks)...)
			s, err := w.kind.Subject(t.Context(), c.asks)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(s.Missing, c.want) || len(s.First) > 0 || s.Last != nil {
				t.Errorf("it misses %q and does %v, want %q", s.Missing, s.First, c.want)
			}
			if r := w.until(func(r *oamv1beta1.AppRollout) bool { return r.Status.Message != "" }); !strings.Contains(r.Status.Message, c.want) {
				t.Errorf("it says %q", r.Status.Message)
			}
			if err := w.Delete(t.Context(), c.asks); err != nil {
				t.Fatal(err)
			}
			w.until(gone)
		})
	}
}

// An answer that may be another one the next time is an error, and said by nobody. One that stays needs a person.
func TestWhatCannotBeReadIsTriedAgainOrTold(t *testing.T) {
	extra := service(t, "cart")
	objects := []client.Object{revisionOf(t, "shop", 2, part{"cart", 2, set(t, "a:2"), []*unstructured.Unstructured{extra}})}
	for sentence, c := range map[string]struct {
		kind    string
		failure error
		fails   bool
		says    string
	}{
		"a revision, for now": {"ApplicationRevision", errors.New("the server is busy"), true, ""},
		"an extra, for now":   {"Service", errors.New("the server is busy"), true, ""},
		"an extra that the manager has no right to": {
			"Service", apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "cart", errors.New("no role")), false, `reading Service cart: services "cart" is forbidden: no role: Slipway needs that right`,
		},
		"an extra of a kind that there is not": {"Service", &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Service"}}, false, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, err := newWorld(t, objects...).refusing(c.kind, c.failure).Subject(t.Context(), asking("shop-v2", "", to(3)))
			if (err != nil) != c.fails {
				t.Fatalf("it fails with %v", err)
			}
			if c.fails && !errors.Is(err, c.failure) {
				t.Errorf("it fails with %v", err)
			}
			if !c.fails && !strings.Contains(s.Missing, c.says) {
				t.Errorf("it says %q", s.Missing)
			}
		})
	}
}

// A rollout that is under way is about what it has begun with, whatever has become of the revisions.
func TestWhatIsUnderWayNeedsNoRevisions(t *testing.T) {
	running := &rolloutv1alpha1.RunningRollout{
		TargetAppRevision: "shop-v2", SourceAppRevision: "shop-v1", Component: "cart", TargetRef: ref("apps/v1", "Deployment", "cart-v2"), SourceRef: apartOf("cart-v1"),
	}
	for sentence, c := range map[string]struct {
		asks *oamv1beta1.AppRollout
		same bool
		size int32
	}{
		"the same":             {asking("shop-v2", "shop-v1"), true, 4},
		"with a size":          {asking("shop-v2", "shop-v1", to(6)), true, 6},
		"the component named":  {asking("shop-v2", "shop-v1", component("cart")), true, 4},
		"another target":       {asking("shop-v3", "shop-v1"), false, 0},
		"another source":       {asking("shop-v2", "shop-v0"), false, 0},
		"another component":    {asking("shop-v2", "shop-v1", component("pay")), false, 0},
		"swapped, to go back":  {asking("shop-v1", "shop-v2"), false, 0},
		"only a scale, by now": {asking("shop-v2", "", to(6)), false, 6},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.asks.Status.RollingState, c.asks.Status.BatchRollingState = rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchVerifyingState
			c.asks.Status.Running, c.asks.Status.ObservedGeneration = running.DeepCopy(), 1
			size := int32(4)
			c.asks.Status.Running.TargetSize = &size
			s, err := newWorld(t).kind.Subject(t.Context(), c.asks)
			if err != nil || s.Missing != "" || len(s.First) > 0 || s.Last != nil {
				t.Fatalf("got %+v, %v", s, err)
			}
			if same := s.Rollout.Target == running.TargetRef; same != c.same {
				t.Errorf("its workload is %v", s.Rollout.Target)
			}
			if (*s.Rollout.Revisions == engine.Revisions{Target: "shop-v2", Source: "shop-v1", Component: "cart"}) != c.same {
				t.Errorf("it asks for %v", s.Rollout.Revisions)
			}
			if got := s.Rollout.Plan.TargetSize; (got != nil) != (c.size > 0) || got != nil && *got != c.size {
				t.Errorf("its size is %v", got)
			}
			target, _ := s.Rollout.Looks()
			if target != running.TargetRef {
				t.Errorf("it looks at %v", target)
			}
		})
	}
}

func TestTheStatusSpeaksOfTheRevisionsThatRun(t *testing.T) {
	r := asking("shop-v3", "shop-v2")
	for sentence, c := range map[string]struct {
		running *rolloutv1alpha1.RunningRollout
		want    [3]string
	}{
		"before it begins, of those that are asked for": {nil, [3]string{"shop-v3", "shop-v2", ""}},
		"then of those that it has begun with":          {&rolloutv1alpha1.RunningRollout{TargetAppRevision: "shop-v2", SourceAppRevision: "shop-v1", Component: "cart"}, [3]string{"shop-v2", "shop-v1", "cart"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := newWorld(t).kind.WithStatus(r, rolloutv1alpha1.RolloutStatus{Running: c.running}).(*oamv1beta1.AppRollout).Status
			if diff := cmp.Diff(c.want, [3]string{got.LastTargetAppRevision, got.LastSourceAppRevision, got.Component}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if r.Status.LastTargetAppRevision != "" {
		t.Error("the object itself was changed")
	}
}

// What was there when the rollout was verified can be gone before it claims anything: a webhook may take hours.
func TestARevisionThatGoesBeforeTheClaimIsNamed(t *testing.T) {
	for _, state := range []rolloutv1alpha1.RollingState{rolloutv1alpha1.VerifyingSpecState, rolloutv1alpha1.InitializingState} {
		t.Run(string(state), func(t *testing.T) {
			second := revisionOf(t, "shop", 2, part{"cart", 2, set(t, "a:2"), nil})
			w := newWorld(t, deployed(set(t, "a:1"), 1, "cart", 1), revisionOf(t, "shop", 1, part{"cart", 1, set(t, "a:1"), nil}), second, asking("shop-v2", "shop-v1"))
			w.until(is(rolloutv1alpha1.InitializingState))
			if state == rolloutv1alpha1.VerifyingSpecState {
				w.edit(in(state))
			}
			if err := w.Delete(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				w.look()
			}
			r := w.rollout()
			if r.Status.RollingState != state || r.Status.Message != "there is no ApplicationRevision shop-v2 in namespace web" {
				t.Errorf("it is in %s, and says %q", r.Status.RollingState, r.Status.Message)
			}
			if got := controllerOf(w.cloneSet()); got != "Application shop" {
				t.Errorf("its workload is controlled by %s", got)
			}
			second.ResourceVersion = ""
			if err := w.Create(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			w.until(is(rolloutv1alpha1.RolloutSucceedState))
		})
	}
}
