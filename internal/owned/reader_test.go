// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

// world is a reader of an API server in memory, and the set "web" that is stored there.
func world(t *testing.T, objects ...client.Object) (Reader, *kruisev1alpha1.CloneSet) {
	t.Helper()
	server := api.New(clocktesting.NewFakePassiveClock(builders.Epoch()))
	stored, err := server.Create("user", builders.CloneSet("web").Build())
	if err != nil {
		t.Fatal(err)
	}
	set := stored.(*kruisev1alpha1.CloneSet)
	for _, o := range objects {
		if o.GetLabels()["owner"] == "web" {
			o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(set, kruisev1alpha1.GroupVersion.WithKind("CloneSet"))})
		}
		if _, err := server.Create("user", o); err != nil {
			t.Fatal(err)
		}
	}
	cache := api.NewCache(server, map[string]api.Index{OwnerIndex: OwnerOf}, nil)
	return Reader{Cache: cache, Live: server.Client("manager")}, set
}

func a(meta metav1.ObjectMeta) *corev1.Pod {
	p := builders.Pod(meta.Name).Build()
	p.ObjectMeta = meta
	return p
}

func named(name, owner string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: builders.Namespace, Name: name, Labels: map[string]string{"owner": owner, "app": "web"}}
}

func TestLivePodsAreThoseOfTheServer(t *testing.T) {
	r, set := world(t, a(named("web-b", "web")), a(named("web-a", "web")), a(named("web-c", "")))
	if err := r.Live.(client.Writer).Delete(t.Context(), a(named("web-b", "web"))); err != nil {
		t.Fatal(err)
	}
	var got []string
	pods, err := r.LivePods(t.Context(), set, set.Spec.Selector)
	for _, p := range pods {
		if p.DeletionTimestamp == nil {
			got = append(got, p.Name)
		}
	}
	if diff := cmp.Diff([]string{"web-a"}, got); diff != "" || err != nil {
		t.Errorf("found (-want +got):\n%s%v", diff, err)
	}
	if pods, err := r.LivePods(t.Context(), set, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}); len(pods) > 0 || err != nil {
		t.Errorf("pods that the selector does not match: %v, %v", pods, err)
	}
	unreadable := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	if _, err := r.LivePods(t.Context(), set, unreadable); err == nil || !strings.Contains(err.Error(), "reading the selector of the pods") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsOwnedIsFoundByTheIndex(t *testing.T) {
	r, set := world(t,
		a(named("web-b", "web")), a(named("web-a", "web")), a(named("web-c", "")),
		&corev1.PersistentVolumeClaim{ObjectMeta: named("data-a", "web")}, &corev1.PersistentVolumeClaim{ObjectMeta: named("data-c", "")},
		&appsv1.ControllerRevision{ObjectMeta: named("web-1", "web")}, &appsv1.ControllerRevision{ObjectMeta: named("web-2", "")},
	)
	var got []string
	pods, errPods := r.Pods(t.Context(), set)
	for _, p := range pods {
		got = append(got, p.Name)
	}
	claims, errClaims := r.Claims(t.Context(), set)
	for _, c := range claims {
		got = append(got, c.Name)
	}
	revisions, errRevisions := r.Revisions(t.Context(), set, "web-1")
	for _, c := range revisions {
		got = append(got, c.Name)
	}
	orphans, errOrphans := r.OrphanRevisions(t.Context(), set, set.Spec.Selector)
	for _, c := range orphans {
		got = append(got, "orphan "+c.Name)
	}
	for _, err := range []error{errPods, errClaims, errRevisions, errOrphans} {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"web-a", "web-b", "data-a", "web-1", "orphan web-2"}, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestOnlyTheSetItselfAdoptsWhatItsSelectorMatches(t *testing.T) {
	for sentence, change := range map[string]func(*kruisev1alpha1.CloneSet){
		"a namesake has taken its place": func(set *kruisev1alpha1.CloneSet) { set.UID = "earlier" },
		"another selector matches":       func(set *kruisev1alpha1.CloneSet) { set.Spec.Selector.MatchLabels = map[string]string{"app": "shop"} },
		"an empty selector matches none": func(set *kruisev1alpha1.CloneSet) { set.Spec.Selector = &metav1.LabelSelector{} },
	} {
		t.Run(sentence, func(t *testing.T) {
			r, set := world(t, &appsv1.ControllerRevision{ObjectMeta: named("web-2", "")})
			set = set.DeepCopy()
			change(set)
			if found, err := r.OrphanRevisions(t.Context(), set, set.Spec.Selector); err != nil || len(found) > 0 {
				t.Errorf("found %d, error %v", len(found), err)
			}
		})
	}
}

// A creation that was answered with AlreadyExists met a pod of our own that the cache does not show, or one of others.
func TestWhoHasATakenNameIsLearnt(t *testing.T) {
	r, set := world(t, a(named("web-a", "web")), a(named("web-b", "")))
	empty := api.NewCache(api.New(clocktesting.NewFakePassiveClock(builders.Epoch())), nil, nil)
	writes := freshness.New(empty, r.Live, clocktesting.NewFakePassiveClock(builders.Epoch()), 0)
	m := &Memory{}
	taken := func(name string) apply.Outcome {
		return apply.Outcome{Step: step.CreatePod{Pod: builders.Pod(name).Build()}, Err: apierrors.NewAlreadyExists(schema.GroupResource{}, name)}
	}
	if err := m.Learn(t.Context(), r, writes, set, []apply.Outcome{taken("web-b"), taken("web-gone")}, nil); err != nil {
		t.Fatal(err)
	}
	if _, stale := writes.Unseen(t.Context(), set.UID); stale {
		t.Error("a pod of others is waited for")
	}
	if err := m.Learn(t.Context(), r, writes, set, []apply.Outcome{taken("web-a")}, nil); err != nil {
		t.Fatal(err)
	}
	if _, stale := writes.Unseen(t.Context(), set.UID); !stale {
		t.Error("our own pod is not waited for")
	}
	if diff := cmp.Diff(map[string]bool{"web-b": true}, m.Taken); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

func TestPodsWithoutAControllerAreFoundByTheNameOfTheSet(t *testing.T) {
	others := a(named("web-1", ""))
	others.Labels = map[string]string{"app": "shop"}
	r, set := world(t, a(named("web-10", "")), a(named("web-2", "")), others, a(named("web-3", "web")), a(named("shop-1", "")), a(named("web-x", "")))
	for sentence, c := range map[string]struct {
		change            func(*kruisev1alpha1.CloneSet)
		adoptable, others string
	}{
		"by name, and others beside them": {func(*kruisev1alpha1.CloneSet) {}, "web-10 web-2", "web-1"},
		"another set may not adopt":       {func(set *kruisev1alpha1.CloneSet) { set.UID = "earlier" }, "", "web-1 web-10 web-2"},
		"an empty selector matches none":  {func(set *kruisev1alpha1.CloneSet) { set.Spec.Selector = &metav1.LabelSelector{} }, "", "web-1 web-10 web-2"},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := set.DeepCopy()
			c.change(set)
			adoptable, others, err := r.OrphanPods(t.Context(), set, set.Spec.Selector)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(adoptable); got != c.adoptable {
				t.Errorf("adoptable are %q, want %q", got, c.adoptable)
			}
			if got := names(others); got != c.others {
				t.Errorf("others are %q, want %q", got, c.others)
			}
		})
	}
}

func names(pods []*corev1.Pod) string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return strings.Join(all, " ")
}

func TestMemoryBelongsToOneObject(t *testing.T) {
	var gone []types.UID
	m := Memories[Memory]{Gone: func(uid types.UID) { gone = append(gone, uid) }}
	first, second := builders.CloneSet("web").Build(), builders.CloneSet("web").Build()
	second.UID = "another"
	m.Of(first).Taken = map[string]bool{"web-a": true}
	if !m.Of(first).Taken["web-a"] {
		t.Error("forgotten at once")
	}
	if m.Of(second).Taken["web-a"] {
		t.Error("a namesake remembers what was another's")
	}
	m.Forget(client.ObjectKeyFromObject(second))
	m.Forget(client.ObjectKeyFromObject(second)) // nothing is known of it any more
	if want := []types.UID{first.UID, "another"}; !slices.Equal(gone, want) {
		t.Errorf("gone are %q, want %q", gone, want)
	}
}

func TestALargeSetRestsAfterEachLook(t *testing.T) {
	now := builders.Epoch()
	for pods, want := range map[int]time.Duration{100: 0, 1100: 50 * time.Millisecond} {
		m := &Memory{}
		m.Rest(now)
		m.size = pods
		m.Rest(now)
		if got := m.Rest(now); got != want {
			t.Errorf("with %d pods it rests %s, want %s", pods, got, want)
		}
		m.Wake()
		if got := m.Rest(now); got != 0 {
			t.Errorf("with %d pods it rests %s after a failure", pods, got)
		}
	}
}
