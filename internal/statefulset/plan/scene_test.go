// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

var now = builders.Epoch().Add(time.Hour)

// The three revisions of a scene: an older one, the current one, and that of the live template.
const (
	older, current, update        = 0, 1, 2
	imageOld, imageCur, imageLive = "registry.test/app:v1", "registry.test/app:v2", "registry.test/app:v3"
)

// scene is a world under construction: a set with history.
type scene struct {
	set   *kruisev1beta1.StatefulSet
	world plan.World
}

// sceneOf is a set with three revisions, of which the second is current and the third live.
func sceneOf(b *builders.StatefulSetBuilder) *scene {
	s := &scene{set: b.Build()}
	for i, image := range []string{imageOld, imageCur, imageLive} {
		s.set.Spec.Template.Spec.Containers[0].Image = image
		s.world.Revisions = append(s.world.Revisions, recorded(s.set, int64(i+1)))
	}
	s.world.Set, s.world.Live = s.set, revision.FromTemplate(&s.set.Spec.Template)
	s.set.Status.CurrentRevision = s.world.Revisions[current].Name
	s.world.Claims = map[string]*corev1.PersistentVolumeClaim{}
	return s
}

func recorded(set *kruisev1beta1.StatefulSet, number int64) revision.Revision {
	object, err := revision.Draft{
		Owner: set, Reference: *metav1.NewControllerRef(set, kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind)),
		Template: set.Spec.Template.DeepCopy(), Number: number,
	}.Object()
	if err != nil {
		panic(err)
	}
	object.UID, object.ResourceVersion = types.UID(object.Name), "1"
	return revision.Decode(object)
}

// live makes the n-th revision the live template.
func (s *scene) live(n int) *scene {
	s.set.Spec.Template = *s.world.Revisions[n].Template.DeepCopy()
	s.world.Live = revision.FromTemplate(&s.set.Spec.Template)
	return s
}

// pod adds a pod of the n-th revision, changed as asked.
func (s *scene) pod(ordinal, n int, changes ...func(*builders.PodBuilder)) *scene {
	r := s.world.Revisions[n]
	b := builders.MemberPod(s.set, ordinal, r.Name).With(func(p *corev1.Pod) {
		p.Spec.Containers[0].Image = r.Template.Spec.Containers[0].Image
		p.ResourceVersion = "1"
	})
	for _, change := range changes {
		change(b)
	}
	s.world.Pods = append(s.world.Pods, b.Build())
	return s
}

// pods adds pods in the notation of the examples: ordinal, revision (u update, c current, x older), state (A available, u
// not ready, F failed, T terminating), and * when it is chosen for deletion.
func (s *scene) pods(notation string) *scene {
	for _, each := range strings.Fields(notation) {
		var changes []func(*builders.PodBuilder)
		each, isChosen := strings.CutSuffix(each, "*")
		if isChosen {
			changes = append(changes, chosen)
		}
		ordinal, err := strconv.Atoi(each[:len(each)-2])
		if err != nil {
			panic(err)
		}
		n := map[byte]int{'x': older, 'c': current, 'u': update}[each[len(each)-2]]
		switch each[len(each)-1] {
		case 'u':
			changes = append(changes, notReady)
		case 'F':
			changes = append(changes, failed)
		case 'T':
			changes = append(changes, terminating)
		}
		s.pod(ordinal, n, changes...)
	}
	return s
}

// claim adds the claim of a template for an ordinal, bound, of that size.
func (s *scene) claim(template string, ordinal int, size string, changes ...func(*corev1.PersistentVolumeClaim)) *scene {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: builders.Namespace, Name: fmt.Sprintf("%s-%s-%d", template, s.set.Name, ordinal), ResourceVersion: "1",
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: storage(size)},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: storage(size)},
	}
	c.UID = types.UID(c.Name + "-uid")
	for _, change := range changes {
		change(c)
	}
	s.world.Claims[c.Name] = c
	return s
}

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

func notReady(b *builders.PodBuilder)    { b.NotReady() }
func chosen(b *builders.PodBuilder)      { b.Chosen() }
func failed(b *builders.PodBuilder)      { b.Failed("Evicted") }
func terminating(b *builders.PodBuilder) { b.Terminating(now) }
func with(change func(*corev1.Pod)) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.With(change) }
}
func label(key, value string) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.Label(key, value) }
}
func state(l kruisev1alpha1.LifecycleState) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.Lifecycle(l) }
}

// told is a plan as a reader would tell it.
func (s *scene) told(p plan.Plan) []string {
	var lines []string
	for _, each := range p.Steps {
		lines = append(lines, s.tellStep(each))
	}
	if p.Throttled > 0 {
		lines = append(lines, fmt.Sprintf("%d creations throttled", p.Throttled))
	}
	return lines
}

func (s *scene) tellStep(each step.Step) string {
	short := strings.TrimPrefix(each.Subject(), s.set.Name+"-")
	switch each := each.(type) {
	case step.CreatePod:
		letter := "x"
		switch each.Pod.Labels[kruisev1alpha1.LabelRevision] {
		case s.world.Revisions[update].Name:
			letter = "u"
		case s.world.Revisions[current].Name:
			letter = "c"
		}
		return "create " + short + "@" + letter
	case step.DeletePod:
		switch each.Cause {
		case step.ScaleIn:
			return "delete " + short + " (scale-in)"
		case step.Chosen:
			return "delete " + short + " (specified)"
		case step.CleanUp:
			return "delete " + short + " (failed)"
		}
		return "update " + short
	case step.UpdateInPlace:
		return "update " + short
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", each), "step.")
	if strings.HasSuffix(kind, "Revision") { // they have names that nobody can guess
		return kind
	}
	return kind + " " + short
}
