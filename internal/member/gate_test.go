// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// gate is what a step does to the gate of its pod, behind what it is told as.
func gate(v member.Verdict) string {
	var conditions []corev1.PodCondition
	switch s := v.Step.(type) {
	case step.PatchPod:
		conditions = s.Conditions
	case step.SetConditions:
		conditions = s.Conditions
	}
	for _, c := range conditions {
		if c.Type == kruisev1alpha1.ConditionInPlaceUpdateReady {
			return told(v) + " gate=" + string(c.Status)
		}
	}
	return told(v)
}

// TestHooksThatCloseTheGate: a pod that such a hook holds is out of service by the gate of updates, and its handlers come
// back by themselves when that opens.
func TestHooksThatCloseTheGate(t *testing.T) {
	lb := hook("lb")
	closing := hooked(lifecycle.Hooks{InPlaceUpdate: lb, PreDelete: lb, PreNormal: lb, CloseGate: true})
	annotated := func(s *member.Set) {
		s.Update = stored("b", v1, func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"note": "new"} })
		s.History[1] = s.Update
	}
	losing := func(s *member.Set) { s.Loss = "its place is gone" }
	on := label("lb", "hold")
	is := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == kruisev1alpha1.ConditionInPlaceUpdateReady
			}), corev1.PodCondition{Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: status})
		}
	}
	stale, open := is(corev1.ConditionFalse), is(corev1.ConditionTrue) // stale: its node has not noticed
	shut := func(p *corev1.Pod) {
		stale(p)
		if ready := pod.Condition(p, corev1.PodReady); ready != nil {
			ready.Status = corev1.ConditionFalse
		}
	}
	updating, preparing, leaving := in(kruisev1alpha1.LifecycleUpdating), in(kruisev1alpha1.LifecyclePreparingUpdate), in(kruisev1alpha1.LifecyclePreparingDelete)
	update := func(s *member.Set, p *corev1.Pod) member.Verdict { return s.UpdateOf(s.Judge(p)) }
	tend := func(s *member.Set, p *corev1.Pod) member.Verdict { return s.Tend(s.Judge(p)) }
	callOff := func(s *member.Set, p *corev1.Pod) member.Verdict { return s.CallOff(s.Judge(p)) }
	const held = "held: components that route traffic have to let go of pods before their update"
	for sentence, c := range map[string]struct {
		got  member.Verdict
		want string
	}{
		"the gate closes when an update is prepared":     {update(asking(closing), web(on, open)), "patch state=PreparingUpdate gate=False"},
		"who came back in the middle is waited for":      {update(asking(closing), web(on, updating, shut)), held},
		"who did not does not matter":                    {update(asking(closing), web(updating, shut)), "update drained=false controller-revision-hash=web-b state=Updating"},
		"who is reported ready all the same is drained":  {update(asking(closing), web(updating, stale)), "update drained=true controller-revision-hash=web-b state=Updating"},
		"while it is held, its node has the word":        {tend(asking(closing), web(on, preparing, stale)), ""},
		"a newer revision puts nothing back":             {update(asking(closing), web(in(kruisev1alpha1.LifecycleUpdated), open)), "update drained=true controller-revision-hash=web-b state=Updating"},
		"a change that restarts nothing asks nobody":     {update(asking(closing, annotated), web(on, open)), "update drained=false controller-revision-hash=web-b state=Updating"},
		"a gate that was opened in between closes again": {tend(asking(closing), web(on, preparing, open)), "SetConditions gate=False"},
		"before a deletion, too":                         {tend(asking(closing), web(on, leaving, open)), "SetConditions gate=False"},
		"and it stays closed":                            {tend(asking(closing), web(on, leaving, shut)), ""},
		"a grace period does not end under traffic":      {tend(asking(closing), web(on, updating, inGrace("2026-01-01T00:59:30Z"), shut)), held},
		"the next batch does not begin under traffic":    {tend(asking(closing), web(on, updating, nextBatch, shut)), held},
		"an update that is called off opens the gate":    {callOff(asking(closing), web(on, preparing, shut)), "patch state=Normal gate=True"},
		"also when not all are on the pod any more":      {callOff(asking(closing), web(preparing, shut)), "patch state=Updated gate=True"},
		"so does a deletion that is":                     {asking(closing).Revoke(web(on, leaving, shut)), "patch state=PreparingNormal gate=True"},
		"the gate closes when a deletion is prepared":    {asking(closing).Delete(web(on, open), step.ScaleIn, "it goes"), "patch state=PreparingDelete gate=False"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, gate(c.got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	s := asking(policy(member.Recreate), losing)
	if why := s.UpdateOf(s.Judge(web())).Step.Why(); why != "revision b replaces a; its place is gone" {
		t.Errorf("a recreation says %q", why)
	}
}
