// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/revision"
)

func request(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

// sizing is a set whose revision web-a asks for one CPU and web-b, which is to come, for two.
func sizing(changes ...func(*member.Set)) *member.Set {
	sized := func(hash, cpu string) revision.Revision {
		return stored(hash, v1, func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Resources = request(cpu)
			t.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
		})
	}
	s := asking(func(s *member.Set) {
		s.Update = sized("b", "2")
		s.History = []revision.Revision{sized("a", "1"), s.Update}
	})
	for _, change := range changes {
		change(s)
	}
	return s
}

// size gives a pod a request, and has its node report it.
func size(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources = request(cpu)
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
		p.Status.QOSClass = corev1.PodQOSBurstable
		reported := request(cpu)
		p.Status.ContainerStatuses[0].Resources = &reported
	}
}

func TestResizes(t *testing.T) {
	off := func(s *member.Set) { s.ResizeOff = true }
	tooSmall := func(s *member.Set) { s.Unresizable = map[types.UID]string{"web-0-uid": "too small"} }
	only := policy(member.InPlaceOnly)
	infeasible := func(p *corev1.Pod) {
		p.Annotations = map[string]string{kruisev1alpha1.AnnotationInPlaceState: `{"revision":"web-b","updateTimestamp":null,"lastContainerStatuses":null,"updateResources":true,"resizedContainers":["app"]}`}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible})
	}
	hollow := func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Resources = nil }
	const noGate = "pod web-0: it has no readiness gate InPlaceUpdateReady, so it is updated without leaving service"
	update := func(s *member.Set, p *corev1.Pod) member.Verdict { return s.UpdateOf(s.Judge(p)) }
	repair := func(s *member.Set, p *corev1.Pod) member.Verdict { return s.Repair(s.Judge(p)) }
	for sentence, c := range map[string]struct {
		got  member.Verdict
		want string
	}{
		"a pod is resized":                             {update(sizing(), web(size("1"))), "update drained=true controller-revision-hash=web-b"},
		"not where that is switched off":               {update(sizing(off), web(size("1"))), "delete(1)"},
		"nor where the server refuses it":              {update(sizing(tooSmall), web(size("1"))), "delete(1)"},
		"which is told where pods are kept":            {update(sizing(tooSmall, only), web(size("1"))), "kept refused: pod web-0: too small, and spec.how is InPlaceOnly"},
		"a pod of the right size needs no repair":      {repair(sizing(), web(current, size("2"))), ""},
		"one that the node cannot resize is recreated": {repair(sizing(), web(current, size("2"), infeasible)), "delete(1)"},
		"or kept": {repair(sizing(only), web(current, size("2"), infeasible)), "kept refused: pod web-0: spec.containers[*].resources: the node cannot give them, and spec.how is InPlaceOnly"},
		"one with the size of another revision goes back": {repair(sizing(), web(current, size("1"))), "update drained=true controller-revision-hash=web-b"},
		"not where resizing is switched off":              {repair(sizing(off), web(current, size("1"))), ""},
		"nor when the server refuses it":                  {repair(sizing(tooSmall), web(current, size("1"))), "delete(1)"},
		"and a pod that nobody can resize is kept":        {repair(sizing(), web(current, size("1"), hollow)), "kept"},
		"a size of nobody's stays":                        {repair(sizing(), web(current, size("3"))), ""},
		"it needs the gate where that is asked for":       {repair(sizing(needsGate), web(current, size("1"), gateless)), "delete(1)"},
		"or is done with a warning":                       {repair(sizing(needsGate, only), web(current, size("1"), gateless)), "update drained=false controller-revision-hash=web-b warned: " + noGate},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, told(c.got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEnvironmentThatNobodyWouldRestartRecreates(t *testing.T) {
	env := []corev1.EnvVar{{Name: "TIER", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}}}
	of := func(hash, tier string) revision.Revision {
		return stored(hash, v1, func(t *corev1.PodTemplateSpec) { t.Labels["tier"], t.Spec.Containers[0].Env = tier, env })
	}
	for kind, want := range map[member.Policy]string{
		member.InPlaceIfPossible: "delete(1)",
		member.InPlaceOnly: "kept refused: pod web-0: metadata.labels['tier']: env TIER of container app reads it, and only a restart of the container " +
			"would show the new value cannot change in place, and spec.how is InPlaceOnly",
	} {
		s := asking(policy(kind), func(s *member.Set) {
			s.Update, s.History = of("b", "back"), []revision.Revision{of("a", "front"), of("b", "back")}
		})
		got := s.UpdateOf(s.Judge(web(func(p *corev1.Pod) { p.Spec.Containers[0].Env = env })))
		if diff := cmp.Diff(want, told(got)); diff != "" {
			t.Errorf("policy %d (-want +got):\n%s", kind, diff)
		}
	}
}
