// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// FuzzLife plays the lives of pods that the property draws, led by what they reach.
func FuzzLife(f *testing.F) { f.Fuzz(rapid.MakeFuzz(endsWithTheNewest)) }

// templateOf reads a template as a set would hold it; false for one that no server takes: container names have to differ.
func templateOf(raw string) (*corev1.PodTemplateSpec, bool) {
	template := &corev1.PodTemplateSpec{}
	if json.Unmarshal([]byte(raw), template) != nil {
		return nil, false
	}
	names := map[string]bool{}
	for _, c := range template.Spec.Containers {
		names[c.Name] = true
	}
	finalizers := slices.Compact(slices.Sorted(slices.Values(template.Finalizers)))
	if len(names) != len(template.Spec.Containers) || len(finalizers) != len(template.Finalizers) {
		return nil, false
	}
	return revision.FromTemplate(template).Template, true
}

// brought is a template after a difference was applied to it.
func brought(from *corev1.PodTemplateSpec, d inplace.Difference) *corev1.PodTemplateSpec {
	to := from.DeepCopy()
	to.Labels, to.Annotations = withKeys(from.Labels, d.Labels), withKeys(from.Annotations, d.Annotations)
	to.Finalizers = slices.DeleteFunc(to.Finalizers, func(name string) bool { return slices.Contains(d.RemoveFinalizers, name) })
	to.Finalizers = append(to.Finalizers, d.AddFinalizers...)
	slices.Sort(to.Finalizers)
	to.Finalizers = slices.Compact(to.Finalizers) // the server adds none twice
	for i := range to.Spec.Containers {
		c := &to.Spec.Containers[i]
		if image, changed := d.Images[c.Name]; changed {
			c.Image = image
		}
		c.ImagePullPolicy = "" // of a living pod it stays
		maps.Copy(c.Resources.Limits, d.Resources[c.Name].Limits)
		maps.Copy(c.Resources.Requests, d.Resources[c.Name].Requests)
	}
	return to
}

func withKeys(have map[string]string, patch map[string]*string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, have)
	for key, value := range patch {
		set(all, key, value)
	}
	return all
}

// FuzzCompare: a difference that is possible leads from the one template to the other, and one after the other to the third;
// what is possible one way is so on the way back, and between equal templates there is none.
func FuzzCompare(f *testing.F) {
	f.Fuzz(func(t *testing.T, one, two, three string) {
		a, okA := templateOf(one)
		b, okB := templateOf(two)
		c, okC := templateOf(three)
		if !okA || !okB || !okC {
			return
		}
		if d := inplace.Compare(a, a.DeepCopy()); !d.Empty() {
			t.Errorf("a template differs from itself in %s %v", d, d.Refusals)
		}
		there, back := inplace.Compare(a, b), inplace.Compare(b, a)
		if there.Possible() != back.Possible() {
			t.Errorf("there it is possible: %v %v, and back: %v %v", there.Possible(), there.Refusals, back.Possible(), back.Refusals)
		}
		if there.Empty() != equality.Semantic.DeepEqual(brought(a, inplace.Difference{}), brought(b, inplace.Difference{})) && there.Possible() {
			t.Errorf("the difference is empty: %v (%s), but the templates are %v", there.Empty(), there, cmp.Diff(a, b))
		}
		if !there.Possible() {
			return
		}
		want := brought(b, inplace.Difference{})
		if got := brought(a, there); !equality.Semantic.DeepEqual(got.Spec, want.Spec) || !sameMetadata(got, want) {
			t.Errorf("the difference leads to (-want +got):\n%s", cmp.Diff(want, got))
		}
		on := inplace.Compare(b, c)
		if !on.Possible() {
			return
		}
		want = brought(c, inplace.Difference{})
		if got := brought(a, on.Onto(there)); !equality.Semantic.DeepEqual(got.Spec, want.Spec) || !sameMetadata(got, want) {
			t.Errorf("one difference onto the other leads to (-want +got):\n%s", cmp.Diff(want, got))
		}
	})
}

func sameMetadata(a, b *corev1.PodTemplateSpec) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && slices.Equal(a.Finalizers, b.Finalizers)
}

// carrying is a running pod with these annotations; an empty one is left out.
func carrying(state, grace, agent string) *corev1.Pod {
	p := running()
	for key, value := range map[string]string{
		kruisev1alpha1.AnnotationInPlaceState: state, kruisev1alpha1.AnnotationInPlaceGrace: grace, kruisev1alpha1.AnnotationRuntimeContainersMeta: agent,
	} {
		if value != "" {
			p.Annotations[key] = value
		}
	}
	return p
}

// FuzzAnnotations: annotations of whatever origin that can be read are the same when written again, and lead to an update
// that can be read in turn; of those that cannot be read, everybody who asks is told. Judging changes no pod.
func FuzzAnnotations(f *testing.F) {
	f.Fuzz(func(t *testing.T, state, grace, agent string) {
		p := carrying(state, grace, agent)
		untouched := p.DeepCopy()
		record, errRecord := inplace.RecordOf(p)
		held, errHeld := inplace.HeldOf(p)
		judged, errJudged := inplace.ProgressOf(p, noon)
		if (errRecord != nil || errHeld != nil) != (errJudged != nil) {
			t.Fatalf("the annotations: %v, %v, but the pod is judged with %v", errRecord, errHeld, errJudged)
		}
		again, errAgain := inplace.Read(p).Progress(p, noon)
		if diff := cmp.Diff(judged, again); diff != "" || (errAgain == nil) != (errJudged == nil) || !inplace.Read(p).Holds(p) {
			t.Errorf("what was read is judged differently: %s, %v", diff, errAgain)
		}
		d := imageTo("app:v2")
		update, errBegin := inplace.Begin(p, d, inplace.Aim{Revision: "web-b", Label: "web-b"}, 0, noon)
		if errJudged != nil && errBegin == nil {
			t.Fatalf("an update begins on annotations that cannot be read: %v", errJudged)
		}
		d.Refused(p)
		if _, err := inplace.Resume(p, noon); err == nil && (record == nil || held == nil) {
			t.Error("an update is resumed that is not held")
		}
		if diff := cmp.Diff(untouched, p); diff != "" {
			t.Fatalf("judging has changed the pod (-before +after):\n%s", diff)
		}
		if errBegin != nil {
			return
		}
		rewritten(t, record, func(p *corev1.Pod) (*inplace.Record, error) { return inplace.RecordOf(p) }, kruisev1alpha1.AnnotationInPlaceState)
		rewritten(t, held, func(p *corev1.Pod) (*inplace.Held, error) { return inplace.HeldOf(p) }, kruisev1alpha1.AnnotationInPlaceGrace)
		take(p, update)
		next, err := inplace.RecordOf(p)
		if err != nil || next == nil || next.Revision != "web-b" {
			t.Fatalf("after an update the record is %+v, %v", next, err)
		}
		if _, stillHeld := p.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]; stillHeld {
			t.Error("an update without a grace period leaves one behind")
		}
		if p.Spec.Containers[0].Image != "app:v2" || inplace.GateOpen(p) {
			t.Errorf("the pod has %s, and its gate is open: %v", p.Spec.Containers[0].Image, inplace.GateOpen(p))
		}
		if got, err := inplace.ProgressOf(p, noon); err != nil || got.Finished && agent == "" {
			t.Errorf("before the node has done anything the update is %+v, %v", got, err)
		}
	})
}

func rewritten[T any](t *testing.T, value *T, read func(*corev1.Pod) (*T, error), key string) {
	t.Helper()
	if value == nil {
		return
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%s: what was read cannot be written: %v", key, err)
	}
	p := running()
	p.Annotations[key] = string(raw)
	again, err := read(p)
	if err != nil || !equality.Semantic.DeepEqual(value, again) {
		t.Errorf("%s: read again after %v (-first +second):\n%s", key, err, cmp.Diff(value, again))
	}
}

// FuzzGrace: with a grace period the pod becomes the same as without, only later, and in between its containers stay.
func FuzzGrace(f *testing.F) {
	f.Fuzz(func(t *testing.T, one, two string, seconds uint8) {
		a, okA := templateOf(one)
		b, okB := templateOf(two)
		if !okA || !okB || len(a.Spec.Containers) == 0 {
			return
		}
		d := inplace.Compare(a, b)
		p := podOf(a)
		if !d.Possible() || len(d.Refused(p)) > 0 {
			return
		}
		aim := inplace.Aim{Revision: "web-b", Label: "web-b"}
		at := bring(t, p.DeepCopy(), d, aim, 0)
		late := bring(t, p.DeepCopy(), d, aim, time.Duration(seconds)*time.Second)
		delete(at.Annotations, kruisev1alpha1.AnnotationInPlaceState) // holds times
		delete(late.Annotations, kruisev1alpha1.AnnotationInPlaceState)
		at.Generation, late.Generation = 0, 0
		at.Status, late.Status = corev1.PodStatus{}, corev1.PodStatus{}
		if !equality.Semantic.DeepEqual(at, late) {
			t.Errorf("a grace period makes another pod (-without +with):\n%s", cmp.Diff(at, late))
		}
	})
}

// podOf is a pod of a template, in service, of which the node reports nothing that could hold an update up.
func podOf(template *corev1.PodTemplateSpec) *corev1.Pod {
	p := running()
	p.Spec = *template.Spec.DeepCopy()
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: kruisev1alpha1.ConditionInPlaceUpdateReady}}
	p.Status.ContainerStatuses = nil
	p.Labels, p.Annotations = withKeys(template.Labels, nil), withKeys(template.Annotations, nil)
	for _, key := range []string{
		kruisev1alpha1.AnnotationInPlaceState, kruisev1alpha1.AnnotationInPlaceGrace, kruisev1alpha1.AnnotationRuntimeContainersMeta,
		kruisev1alpha1.AnnotationInPlaceStateLegacy, kruisev1alpha1.AnnotationInPlaceGraceLegacy,
	} {
		delete(p.Annotations, key)
	}
	return p
}

// bring has an update begin, and go on after its grace period, up to its first batch.
func bring(t *testing.T, p *corev1.Pod, d inplace.Difference, aim inplace.Aim, grace time.Duration) *corev1.Pod {
	t.Helper()
	before := p.DeepCopy()
	update, err := inplace.Begin(p, d, aim, grace, noon)
	if err != nil {
		t.Fatal(err)
	}
	take(p, update)
	held, err := inplace.HeldOf(p)
	if err != nil {
		t.Fatal(err)
	}
	if held == nil {
		return p
	}
	if !equality.Semantic.DeepEqual(before.Spec, p.Spec) || pod.Condition(p, kruisev1alpha1.ConditionInPlaceUpdateReady).Status != corev1.ConditionFalse {
		t.Errorf("held back, the pod is %+v", p)
	}
	got, err := inplace.ProgressOf(p, noon.Add(grace))
	if err != nil || !got.Holding || got.GraceLeft != 0 {
		t.Errorf("at the end of the grace period the update is %+v, %v", got, err)
	}
	if update, err = inplace.Resume(p, noon.Add(grace)); err != nil {
		t.Fatal(err)
	}
	take(p, update)
	return p
}
