// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// server is a fake API server that writes down each write, and fails those that fail says.
type server struct {
	client.WithWatch
	mu     sync.Mutex
	writes []string
	bodies map[string]string // of the patches of objects
	fail   func(write string) error
}

func serve(t *testing.T, objects ...client.Object) *server {
	t.Helper()
	s := &server{bodies: map[string]string{}, fail: func(string) error { return nil }}
	note := func(verb string, object client.Object) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		write := verb + " " + object.GetName()
		s.writes = append(s.writes, write)
		return s.fail(write)
	}
	s.WithWatch = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithStatusSubresource(&corev1.Pod{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := note("create", o); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := note("delete", o); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := note("patch", o); err != nil {
					return err
				}
				body, err := p.Data(o)
				if err != nil {
					return err
				}
				s.bodies["patch "+o.GetName()] = string(body)
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				if err := note("patch "+sub+" of", o); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	return s
}

func (s *server) take(t *testing.T, steps ...step.Step) []apply.Outcome {
	t.Helper()
	tracker := freshness.New(s, s, clocktesting.NewFakePassiveClock(time.Unix(0, 0)), 0)
	return apply.New(s, tracker, apply.Options{Concurrency: 1}).Steps(t.Context(), "set", steps)
}

func (s *server) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: builders.Namespace, Name: name}, p); err != nil {
		t.Fatal(err)
	}
	return p
}

func inPlace(p *corev1.Pod) step.UpdateInPlace {
	value := "web-b"
	return step.UpdateInPlace{
		Target: step.On(p),
		Drain:  []corev1.PodCondition{{Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionFalse}},
		Patch: step.Patch{
			Labels: map[string]*string{kruisev1alpha1.LabelRevision: &value, "gone": nil},
			Images: map[string]string{builders.Container: "registry.test/app:v2"},
		},
	}
}

func TestAnUpdateInPlaceDrainsAndThenChanges(t *testing.T) {
	s := serve(t, builders.Pod("a").Label("gone", "x").Label("kept", "y").Build())
	for _, o := range s.take(t, inPlace(s.pod(t, "a"))) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	if diff := cmp.Diff([]string{"patch status of a", "patch a"}, s.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	p := s.pod(t, "a")
	if _, has := p.Labels["gone"]; has || p.Labels["kept"] != "y" || p.Labels[kruisev1alpha1.LabelRevision] != "web-b" {
		t.Errorf("labels are %v", p.Labels)
	}
	if p.Spec.Containers[0].Image != "registry.test/app:v2" || len(p.Spec.ReadinessGates) != 1 {
		t.Errorf("spec is %+v", p.Spec)
	}
}

// resized is an update that needs all three writes.
func resized(p *corev1.Pod) step.UpdateInPlace {
	s := inPlace(p)
	s.Resize = map[string]corev1.ResourceRequirements{builders.Container: {Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}}
	return s
}

func podWithRequests() *corev1.Pod {
	return builders.Pod("a").With(func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	}).Build()
}

func TestFieldManagersAreForgottenUnlessSomebodyAppliesThePod(t *testing.T) {
	written := metav1.ManagedFieldsEntry{Manager: "kubectl-label", Operation: metav1.ManagedFieldsOperationUpdate}
	applied := metav1.ManagedFieldsEntry{Manager: "argocd", Operation: metav1.ManagedFieldsOperationApply}
	for name, test := range map[string]struct {
		managers []metav1.ManagedFieldsEntry
		options  apply.Options
		images   map[string]string
		want     bool
	}{
		"an update in place has the server forget who wrote":    {managers: []metav1.ManagedFieldsEntry{written}, images: map[string]string{builders.Container: "registry.test/app:v2"}, want: true},
		"also where the cache has left nothing of the managers": {images: map[string]string{builders.Container: "registry.test/app:v2"}, want: true},
		"but not who applies":                           {managers: []metav1.ManagedFieldsEntry{written, applied}, images: map[string]string{builders.Container: "registry.test/app:v2"}},
		"nor where that is not wanted":                  {options: apply.Options{KeepFieldManagers: true}, images: map[string]string{builders.Container: "registry.test/app:v2"}},
		"and a patch that changes no image leaves them": {managers: []metav1.ManagedFieldsEntry{written}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, builders.Pod("a").Build())
			pod := s.pod(t, "a")
			pod.ManagedFields = test.managers
			update := inPlace(pod)
			update.Patch.Images, update.Drain = test.images, nil // the answer to the drain would be another view
			tracker := freshness.New(s, s, clocktesting.NewFakePassiveClock(time.Unix(0, 0)), 0)
			for _, o := range apply.New(s, tracker, test.options).Steps(t.Context(), "set", []step.Step{update}) {
				if o.Err != nil {
					t.Fatal(o.Err)
				}
			}
			if got := strings.Contains(s.bodies["patch a"], `"managedFields":[{}]`); got != test.want {
				t.Errorf("the patch %s forgets: %t, want %t", s.bodies["patch a"], got, test.want)
			}
		})
	}
}

func TestAResizeComesBetweenTheDrainAndTheChange(t *testing.T) {
	s := serve(t, podWithRequests())
	for _, o := range s.take(t, resized(s.pod(t, "a"))) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	if diff := cmp.Diff([]string{"patch status of a", "patch resize of a", "patch a"}, s.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	p := s.pod(t, "a")
	if requests := p.Spec.Containers[0].Resources.Requests; requests.Cpu().String() != "2" || requests.Memory().String() != "1Gi" {
		t.Errorf("requests are %v", requests)
	}
	if p.Spec.Containers[0].Image != "registry.test/app:v2" || p.Labels[kruisev1alpha1.LabelRevision] != "web-b" {
		t.Errorf("the pod has image %s and labels %v", p.Spec.Containers[0].Image, p.Labels)
	}
}

func TestWhateverIsRefusedNothingAfterItIsTried(t *testing.T) {
	chain := []string{"patch status of a", "patch resize of a", "patch a"}
	for i, refused := range chain {
		t.Run(refused, func(t *testing.T) {
			s := serve(t, podWithRequests())
			s.fail = func(write string) error {
				if write == refused {
					return errors.New("no")
				}
				return nil
			}
			outcomes := s.take(t, resized(s.pod(t, "a")))
			if apply.Errors(outcomes) == nil {
				t.Error("no error")
			}
			if diff := cmp.Diff(chain[:i+1], s.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// Somebody else writes between the drain and the resize: the resize must not reach a pod that nobody has judged.
func TestEachWriteIsForTheVersionThatTheOneBeforeMade(t *testing.T) {
	for sentence, before := range map[string]string{"between drain and resize": "patch resize of a", "between resize and patch": "patch a"} {
		t.Run(sentence, func(t *testing.T) {
			s := serve(t, podWithRequests())
			s.fail = func(write string) error {
				if write != before {
					return nil
				}
				other := s.pod(t, "a")
				other.Annotations = map[string]string{"by": "somebody"}
				return s.WithWatch.Update(t.Context(), other)
			}
			outcomes := s.take(t, resized(s.pod(t, "a")))
			if !apply.Conflicts(outcomes) || s.pod(t, "a").Spec.Containers[0].Image == "registry.test/app:v2" {
				t.Errorf("want a conflict and the old image, got %v", outcomes[0].Err)
			}
		})
	}
}

func TestAServerWithoutResizeIsAnErrorAndNoConflict(t *testing.T) {
	s := serve(t, podWithRequests())
	s.fail = func(write string) error {
		if write == "patch resize of a" {
			return apierrors.NewGenericServerResponse(404, "patch", schema.GroupResource{Resource: "pods"}, "a", "404 page not found", 0, true)
		}
		return nil
	}
	if err := apply.Errors(s.take(t, resized(s.pod(t, "a")))); err == nil || !strings.Contains(err.Error(), "pods/resize") {
		t.Errorf("error is %v", err)
	}
}

// The server refuses an update that moves containers, and a strategic merge moves them to the order of the patch.
func TestAPatchLeavesContainersInTheirOrder(t *testing.T) {
	s := serve(t, builders.Pod("a").With(func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}, {Name: "proxy", Image: "proxy:1"}, {Name: "log", Image: "log:1"}}
	}).Build())
	change := inPlace(s.pod(t, "a"))
	change.Patch.Images = map[string]string{"web": "web:2", "log": "log:2"}
	if err := apply.Errors(s.take(t, change)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.pod(t, "a").Spec.Containers {
		got = append(got, c.Image)
	}
	if diff := cmp.Diff([]string{"web:2", "proxy:1", "log:2"}, got); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
}

func TestContainersNeverChangeWhenTheDrainFails(t *testing.T) {
	s := serve(t, builders.Pod("a").Build())
	s.fail = func(write string) error {
		if write == "patch status of a" {
			return errors.New("no")
		}
		return nil
	}
	outcomes := s.take(t, inPlace(s.pod(t, "a")))
	if apply.Errors(outcomes) == nil || slices.Contains(s.writes, "patch a") {
		t.Errorf("writes are %v, error %v", s.writes, apply.Errors(outcomes))
	}
}

func TestAnOldViewChangesNothing(t *testing.T) {
	for sentence, stepOn := range map[string]func(*corev1.Pod) step.Step{
		"update in place": func(p *corev1.Pod) step.Step { return inPlace(p) },
		"conditions": func(p *corev1.Pod) step.Step {
			return step.SetConditions{Target: step.On(p), Conditions: []corev1.PodCondition{{Type: "x", Status: corev1.ConditionTrue}}}
		},
		"labels": func(p *corev1.Pod) step.Step {
			return step.PatchPod{Target: step.On(p), Patch: step.Patch{AddFinalizers: []string{"a/b"}}}
		},
		"delete":  func(p *corev1.Pod) step.Step { return step.DeletePod{Target: step.On(p)} },
		"release": func(p *corev1.Pod) step.Step { return step.ReleasePod{Target: step.On(p), Owner: "set"} },
	} {
		t.Run(sentence, func(t *testing.T) {
			s := serve(t, builders.Pod("a").Build())
			old := s.pod(t, "a")
			newer := old.DeepCopy()
			newer.Labels = map[string]string{"by": "somebody"}
			if err := s.Update(t.Context(), newer); err != nil {
				t.Fatal(err)
			}
			before := s.pod(t, "a")
			outcomes := s.take(t, stepOn(old))
			if !apply.Conflicts(outcomes) || apply.Errors(outcomes) != nil {
				t.Errorf("want a conflict and no error, got %v", outcomes[0].Err)
			}
			if diff := cmp.Diff(before, s.pod(t, "a")); diff != "" {
				t.Errorf("the pod has changed:\n%s", diff)
			}
		})
	}
}

func creations(n int) []step.Step {
	var steps []step.Step
	for i := range n {
		steps = append(steps, step.CreatePod{Because: "missing", Pod: newPodNamed(fmt.Sprintf("p%02d", i))})
	}
	return steps
}

func TestCreationStartsSlowlyAndStopsAtTheBatchThatFails(t *testing.T) {
	s := serve(t)
	s.fail = func(write string) error {
		if write >= "create p03" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("exceeded quota"))
		}
		return nil
	}
	outcomes := s.take(t, creations(20)...)
	if len(outcomes) != 1+2+4 {
		t.Errorf("%d creations were tried, want the batches of 1, 2 and 4", len(outcomes))
	}
}

func TestTheConditionsOfANewPodAreWrittenWhateverHappensToItMeanwhile(t *testing.T) {
	s := serve(t)
	p := newPodNamed("web-a")
	p.Status.Conditions = []corev1.PodCondition{{Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionTrue}}
	s.fail = func(write string) error {
		if write != "patch status of web-a" {
			return nil
		}
		bound := &corev1.Pod{}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(p), bound); err != nil {
			return err
		}
		bound.Labels = map[string]string{"bound": "true"}
		return s.Update(t.Context(), bound)
	}
	for _, o := range s.take(t, step.CreatePod{Pod: p}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	var got corev1.Pod
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(p), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Status.Conditions) != 1 || got.Labels["bound"] == "" {
		t.Errorf("conditions %v, labels %v, want the condition on the version that the scheduler made", got.Status.Conditions, got.Labels)
	}
	if diff := cmp.Diff([]string{"create web-a", "patch status of web-a"}, s.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestThousandsOfPodsGoInSeveralPassesTheFirstOfThePlanFirst(t *testing.T) {
	s := serve(t)
	planned := creations(1200)
	outcomes := s.take(t, planned...)
	if len(outcomes) != 500 || apply.Errors(outcomes) != nil {
		t.Fatalf("%d steps were taken in one pass, errors: %v; want 500 and none", len(outcomes), apply.Errors(outcomes))
	}
	for i, o := range outcomes {
		if o.Step.Subject() != planned[i].Subject() {
			t.Fatalf("step %d was on %s, want %s", i, o.Step.Subject(), planned[i].Subject())
		}
	}
}

func TestNothingIsDoneWhenTheRevisionCannotBeRecorded(t *testing.T) {
	s := serve(t)
	s.fail = func(write string) error {
		if write == "create web-b" {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "controllerrevisions"}, "web-b")
		}
		return nil
	}
	record := step.CreateRevision{Revision: &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: "web-b"}}}
	s.take(t, append(creations(1), record)...)
	if diff := cmp.Diff([]string{"create web-b"}, s.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestOneBadPodDoesNotStopTheOthers(t *testing.T) {
	s := serve(t, builders.Pod("a").Build(), builders.Pod("b").Build())
	s.fail = func(write string) error {
		if write == "patch status of a" {
			return errors.New("admission webhook denied it")
		}
		return nil
	}
	outcomes := s.take(t, inPlace(s.pod(t, "a")), inPlace(s.pod(t, "b")))
	if outcomes[0].Err == nil || outcomes[1].Err != nil {
		t.Errorf("outcomes are %v", outcomes)
	}
}

func TestEventsTellWhatWasDoneAndWhatFailed(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "c", errors.New("old"))
	p := builders.Pod("a").Build()
	apply.Tell(recorder, p, []apply.Outcome{
		{Step: step.CreatePod{Because: "1 of 3 pods is missing", Pod: p}},
		{Step: step.UpdateInPlace{Because: "revision b replaces a", Target: step.On(p)}},
		{Step: step.UpdateInPlace{Because: "revision b replaces a", Target: step.Target{Name: "b"}}},
		{Step: step.UpdateInPlace{Because: "revision b replaces a", Target: step.Target{Name: "c"}}},
		{Step: step.UpdateInPlace{Because: "revision b replaces a", Target: step.Target{Name: "d"}}},
		{Step: step.UpdateInPlace{Because: "its grace period is over", Target: step.Target{Name: "e"}, Resumes: true}},
		{Step: step.UpdateInPlace{Because: "it is reported ready again and again", Target: step.Target{Name: "f"}, Resumes: true, CutsGrace: true}},
		{Step: step.DeletePod{Because: "there is 1 pod more than wanted", Target: step.On(p)}, Err: errors.New("deleting pod a: denied")},
		{Step: step.DeletePod{Because: "revision b replaces a", Target: step.On(p), Cause: step.Recreate}},
		{Step: step.UpdateInPlace{Because: "revision b replaces a", Target: step.On(p)}, Err: conflict},
		{Step: step.SetConditions{Because: "no update is under way", Target: step.On(p)}},
		{Step: step.ResizeClaim{Because: "its template asks for 2Gi", Target: step.Target{Name: "data-a"}, Pod: "a"}},
		{Step: step.AdoptPod{Because: "nobody controls it", Target: step.On(p)}},
	}, nil)
	close(recorder.Events)
	var told []string
	for e := range recorder.Events {
		told = append(told, e)
	}
	want := []string{
		"Normal SuccessfulCreate pod a: 1 of 3 pods is missing",
		"Normal SuccessfulUpdatePodInPlace pod a, b, c and 1 more: revision b replaces a",
		"Warning UpdateWithoutDrain pod f: it is reported ready again and again",
		"Warning FailedDelete deleting pod a: denied",
		"Normal SuccessfulUpdatePodReCreate pod a: revision b replaces a",
		"Normal SuccessfulResize claim data-a: its template asks for 2Gi",
		"Normal SuccessfulUpdate pod a: nobody controls it",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
