// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func newServer() *api.Server { return api.New(clocktesting.NewFakePassiveClock(noon)) }

func podNamed(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:v1"}, {Name: "log", Image: "log:v1"}}},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func bound(p *corev1.Pod) { p.Spec.NodeName = "node-0" }

func mustCreate[T client.Object](t *testing.T, s *api.Server, o T) T {
	t.Helper()
	created, err := s.Create("test", o)
	if err != nil {
		t.Fatalf("creating %s: %v", o.GetName(), err)
	}
	return created.(T)
}

func key(o client.Object) types.NamespacedName { return client.ObjectKeyFromObject(o) }

func stored(s *api.Server, o client.Object) *corev1.Pod {
	p, _ := s.Get(api.Pods, key(o)).(*corev1.Pod)
	return p
}

func TestAPatchIsRefusedWhenItsPreconditionsAreNotMet(t *testing.T) {
	for sentence, c := range map[string]struct {
		patch   string
		refused func(error) bool
	}{
		"another version":  {`{"metadata":{"resourceVersion":"1","labels":{"a":"b"}}}`, apierrors.IsConflict},
		"another UID":      {`{"metadata":{"uid":"other","labels":{"a":"b"}}}`, apierrors.IsInvalid},
		"not JSON":         {`{`, apierrors.IsBadRequest},
		"an env variable":  {`{"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"}]}]}}`, apierrors.IsInvalid},
		"a new container":  {`{"spec":{"containers":[{"name":"more","image":"more:v1"}]}}`, apierrors.IsInvalid},
		"an empty image":   {`{"spec":{"containers":[{"name":"app","image":""}]}}`, apierrors.IsInvalid},
		"a node by patch":  {`{"spec":{"nodeName":"node-1"}}`, apierrors.IsInvalid},
		"a pod of no name": {``, apierrors.IsBadRequest},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer()
			p := mustCreate(t, s, podNamed("a"))
			_, err := s.Patch("test", api.Pods, key(p), api.Main, types.StrategicMergePatchType, []byte(c.patch))
			if !c.refused(err) {
				t.Errorf("answer is %v", err)
			}
			if len(s.Log()) != 1 {
				t.Errorf("the store has changed: %v", s.Log()[1:])
			}
		})
	}
	s := newServer()
	_, err := s.Patch("test", api.Pods, types.NamespacedName{Name: "a"}, api.Main, types.MergePatchType, []byte(`{}`))
	if !apierrors.IsNotFound(err) {
		t.Errorf("a patch of nothing is answered with %v", err)
	}
}

func TestAPatchChangesOnlyWhatItsSubresourceCovers(t *testing.T) {
	s := newServer()
	p := mustCreate(t, s, podNamed("a"))
	patch := []byte(`{"metadata":{"labels":{"app":null,"new":"1"}},"spec":{"containers":[{"name":"log","image":"log:v2"}]},
		"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)

	after, err := s.Patch("test", api.Pods, key(p), api.Main, types.StrategicMergePatchType, patch)
	if err != nil {
		t.Fatal(err)
	}
	got := after.(*corev1.Pod)
	if diff := cmp.Diff([]string{"app:v1", "log:v2"}, []string{got.Spec.Containers[0].Image, got.Spec.Containers[1].Image}); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"new": "1"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(got.Status.Conditions) != 0 || got.Generation != 2 {
		t.Errorf("conditions %v, generation %d; want none and 2", got.Status.Conditions, got.Generation)
	}

	after, err = s.Patch("test", api.Pods, key(p), api.Status, types.StrategicMergePatchType,
		[]byte(`{"spec":{"containers":[{"name":"log","image":"log:v3"}]},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got = after.(*corev1.Pod)
	if got.Spec.Containers[1].Image != "log:v2" || len(got.Status.Conditions) != 1 || got.Generation != 2 {
		t.Errorf("image %s, conditions %v, generation %d", got.Spec.Containers[1].Image, got.Status.Conditions, got.Generation)
	}
}

func TestAStatusOfASetTouchesNothingElse(t *testing.T) {
	s := newServer()
	set := mustCreate(t, s, &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	after, err := s.Patch("test", api.CloneSets, key(set), api.Status, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":7},"status":{"replicas":3,"conditions":[{"type":"Ready","status":"True"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := after.(*kruisev1alpha1.CloneSet)
	if got.Spec.Replicas != nil || got.Labels != nil || got.Generation != 1 || got.Status.Replicas != 3 || len(got.Status.Conditions) != 1 {
		t.Errorf("the set is now %+v", got)
	}
	after, err = s.Patch("test", api.CloneSets, key(set), api.Main, types.MergePatchType, []byte(`{"spec":{"replicas":7},"status":{"replicas":9}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := after.(*kruisev1alpha1.CloneSet); *got.Spec.Replicas != 7 || got.Status.Replicas != 3 || got.Generation != 2 {
		t.Errorf("the set is now %+v", got)
	}
}

func TestAWriteThatChangesNothingIsNone(t *testing.T) {
	s := newServer()
	p := mustCreate(t, s, podNamed("a"))
	after, err := s.Patch("test", api.Pods, key(p), api.Main, types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"app":"web"}}}`))
	if err != nil || after.GetResourceVersion() != p.ResourceVersion || len(s.Log()) != 1 {
		t.Errorf("version %s became %s, %v, log %d", p.ResourceVersion, after.GetResourceVersion(), err, len(s.Log()))
	}
}

func TestDeletion(t *testing.T) {
	held := func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} }
	short := func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](5) }
	for sentence, c := range map[string]struct {
		pod    *corev1.Pod
		status corev1.PodPhase
		grace  *int64
		gone   bool
		left   int64
	}{
		"a pod on a node gets the default time":   {pod: podNamed("a", bound), left: 30},
		"or its own":                              {pod: podNamed("a", bound, short), left: 5},
		"or what the request says":                {pod: podNamed("a", bound, short), grace: ptr.To[int64](2), left: 2},
		"an unscheduled pod goes at once":         {pod: podNamed("a"), gone: true},
		"a finished pod too":                      {pod: podNamed("a", bound), status: corev1.PodFailed, gone: true},
		"grace 0 removes":                         {pod: podNamed("a", bound), grace: ptr.To[int64](0), gone: true},
		"a finalizer holds even what has no time": {pod: podNamed("a", held), left: 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer()
			p := mustCreate(t, s, c.pod)
			if c.status != "" {
				if _, err := s.Modify("node", api.Pods, key(p), api.Status, func(o client.Object) { o.(*corev1.Pod).Status.Phase = c.status }); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Delete("test", api.Pods, key(p), c.grace, nil); err != nil {
				t.Fatal(err)
			}
			after := stored(s, p)
			if c.gone {
				if after != nil {
					t.Errorf("still there: %+v", after.ObjectMeta)
				}
				return
			}
			if want := noon.Add(time.Duration(c.left) * time.Second); !after.DeletionTimestamp.Time.Equal(want) || *after.DeletionGracePeriodSeconds != c.left || after.Generation != 2 {
				t.Errorf("deleted at %v with %d s, generation %d; want %v", after.DeletionTimestamp, *after.DeletionGracePeriodSeconds, after.Generation, want)
			}
		})
	}
}

func TestATerminatingPodGoesWithItsLastFinalizer(t *testing.T) {
	s := newServer()
	p := mustCreate(t, s, podNamed("a", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} }))
	if err := s.Delete("test", api.Pods, key(p), nil, nil); err != nil {
		t.Fatal(err)
	}
	if stored(s, p) == nil {
		t.Fatal("gone in spite of its finalizer")
	}
	if _, err := s.Patch("test", api.Pods, key(p), api.Main, types.StrategicMergePatchType,
		[]byte(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/hold"]}}`)); err != nil {
		t.Fatal(err)
	}
	if left := stored(s, p); left != nil {
		t.Errorf("still there: %+v", left.ObjectMeta)
	}
	if last := s.Log()[len(s.Log())-1]; last.Verb != api.Remove {
		t.Errorf("the last write is %s", last.Verb)
	}
}

func TestADeletionIsRefusedForAnotherVersion(t *testing.T) {
	s := newServer()
	p := mustCreate(t, s, podNamed("a"))
	for _, pre := range []metav1.Preconditions{{UID: ptr.To[types.UID]("other")}, {ResourceVersion: ptr.To("1")}} {
		if err := s.Delete("test", api.Pods, key(p), nil, &pre); !apierrors.IsConflict(err) {
			t.Errorf("with %+v the answer is %v", pre, err)
		}
	}
}

func TestANameIsGivenOnce(t *testing.T) {
	s := newServer()
	first := mustCreate(t, s, podNamed("a"))
	if _, err := s.Create("test", podNamed("a")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the second pod is answered with %v", err)
	}
	if err := s.Delete("test", api.Pods, key(first), nil, nil); err != nil {
		t.Fatal(err)
	}
	if second := mustCreate(t, s, podNamed("a")); second.UID == first.UID {
		t.Errorf("the UID %s is given twice", second.UID)
	}
}

func TestTheLogTellsWhoDidWhat(t *testing.T) {
	s := newServer()
	p := mustCreate(t, s, podNamed("a"))
	if _, err := s.Modify("scheduler", api.Pods, key(p), api.Binding, func(o client.Object) { bound(o.(*corev1.Pod)) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Client("user").Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("node", api.Pods, key(p), ptr.To[int64](0), nil); err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, w := range s.Log() {
		told = append(told, w.Actor+" "+string(w.Verb)+" "+string(w.Subresource))
	}
	want := []string{"test create ", "scheduler update binding", "user mark ", "node remove "}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("log (-want +got):\n%s", strings.TrimSpace(diff))
	}
}
