// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

var now = builders.Epoch().Add(time.Hour)

const v1, v2 = "registry.test/app:v1", "registry.test/app:v2"

// stored is the revision web-<hash> of a template with that image, changed as asked.
func stored(hash, image string, changes ...func(*corev1.PodTemplateSpec)) revision.Revision {
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
	}
	for _, change := range changes {
		change(template)
	}
	r := revision.FromTemplate(template)
	r.Name, r.Hash = "web-"+hash, hash
	return r
}

// asking is a set that updates pods in place from revision web-a with image v1 to web-b with image v2.
func asking(changes ...func(*member.Set)) *member.Set {
	s := &member.Set{
		Update: stored("b", v2), Policy: member.InPlaceIfPossible, PolicyField: "spec.how", Now: now,
	}
	s.History = []revision.Revision{stored("a", v1), s.Update}
	for _, change := range changes {
		change(s)
	}
	return s
}

func policy(p member.Policy) func(*member.Set) { return func(s *member.Set) { s.Policy = p } }
func needsGate(s *member.Set)                  { s.NeedsGate = true }
func repeatsHash(s *member.Set)                { s.RepeatsHash = true }

func hooked(hooks lifecycle.Hooks) func(*member.Set) { return func(s *member.Set) { s.Hooks = hooks } }

func hook(label string) *kruisev1alpha1.LifecycleHook {
	return &kruisev1alpha1.LifecycleHook{LabelsHandler: map[string]string{label: "hold"}}
}

func marking(h *kruisev1alpha1.LifecycleHook) *kruisev1alpha1.LifecycleHook {
	h.MarkPodNotReady = true
	return h
}

// web is a pod of revision web-a with image v1, and of kinds that do not repeat its hash.
func web(changes ...func(*corev1.Pod)) *corev1.Pod {
	p := builders.Pod("web-0").Revision("web-a").Build()
	delete(p.Labels, kruisev1alpha1.LabelPodTemplateHash)
	p.Spec.Containers[0].Image = v1
	p.Status.ContainerStatuses[0].Image = v1
	for _, change := range changes {
		change(p)
	}
	return p
}

func gateless(p *corev1.Pod) { p.Spec.ReadinessGates = nil }
func current(p *corev1.Pod)  { p.Labels[kruisev1alpha1.LabelRevision] = "web-b" }
func label(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}
func in(state kruisev1alpha1.LifecycleState) func(*corev1.Pod) {
	return label(kruisev1alpha1.LabelLifecycleState, string(state))
}

// inGrace is a pod out of service whose grace period of 30 seconds began at that time.
func inGrace(began string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{
			kruisev1alpha1.AnnotationInPlaceState: `{"revision":"web-b","updateTimestamp":"` + began + `","lastContainerStatuses":null}`,
			kruisev1alpha1.AnnotationInPlaceGrace: `{"revision":"web-b","containerImages":{"app":"` + v2 + `"},"graceSeconds":30}`,
		}
		p.Status.Conditions = nil
	}
}

// reported is what endpoints are told of a pod whose gate is closed: ready or not, since so many seconds before now.
func reported(ready corev1.ConditionStatus, seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{
			{Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionFalse},
			{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second))},
		}
	}
}

// drainedAgain is a pod that was taken out of service once more so many seconds before now.
func drainedAgain(seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second))
	}
}

func nextBatch(p *corev1.Pod) {
	p.Annotations = map[string]string{kruisev1alpha1.AnnotationInPlaceState: `{"revision":"web-b","updateTimestamp":null,"lastContainerStatuses":null,"nextContainerImages":{"app":"` + v2 + `"}}`}
}

func restarting(p *corev1.Pod) {
	p.Annotations = map[string]string{kruisev1alpha1.AnnotationInPlaceState: `{"revision":"web-b","updateTimestamp":null,"lastContainerStatuses":{"app":{"imageID":"x","containerID":"` + p.Status.ContainerStatuses[0].ContainerID + `"}}}`}
}

// spoiled is a pod with a condition that is none of ours to write over.
func spoiled(p *corev1.Pod) {
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: kruisev1alpha1.ConditionKruisePodReady}}
	p.Status.Conditions = []corev1.PodCondition{{Type: kruisev1alpha1.ConditionKruisePodReady, Message: "by hand"}}
}

func unreadable(p *corev1.Pod) {
	p.Annotations = map[string]string{kruisev1alpha1.AnnotationInPlaceState: "{"}
}

// told is a verdict as a reader would tell it.
func told(v member.Verdict) string {
	var words []string
	var patch step.Patch
	switch s := v.Step.(type) {
	case nil:
	case step.DeletePod:
		words = append(words, fmt.Sprintf("delete(%d)", s.Cause))
	case step.UpdateInPlace:
		words = append(words, fmt.Sprintf("update drained=%t", len(s.Drain) > 0))
		if patch = s.Patch; s.CutsGrace {
			words = append(words, "cuts its grace")
		}
	case step.PatchPod:
		words = append(words, "patch")
		patch = s.Patch
	default:
		words = append(words, strings.TrimPrefix(fmt.Sprintf("%T", s), "step."))
	}
	for _, key := range slices.Sorted(maps.Keys(patch.Labels)) {
		words = append(words, key[strings.LastIndexByte(key, '/')+1:]+"="+*patch.Labels[key])
	}
	if v.Kept {
		words = append(words, "kept")
	}
	if v.Held != "" {
		words = append(words, "held: "+v.Held)
	}
	for _, sentence := range v.Refused {
		words = append(words, "refused: "+sentence)
	}
	for _, sentence := range v.Warned {
		words = append(words, "warned: "+sentence)
	}
	return strings.Join(words, " ")
}

func TestUpdateOf(t *testing.T) {
	command := func(s *member.Set) {
		s.Update = stored("b", v1, func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Command = []string{"serve"} })
		s.History[1] = s.Update
	}
	annotated := func(s *member.Set) {
		s.Update = stored("b", v1, func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"note": "new"} })
		s.History[1] = s.Update
	}
	same := func(s *member.Set) {
		s.Update = stored("b", v1)
		s.History[1] = s.Update
	}
	hooks := hooked(lifecycle.Hooks{InPlaceUpdate: hook("update"), PreDelete: hook("delete")})
	const noGate = "pod web-0: it has no readiness gate InPlaceUpdateReady"
	for sentence, c := range map[string]struct {
		set  *member.Set
		pod  *corev1.Pod
		want string
	}{
		"an image changes in place, out of service":          {asking(), web(), "update drained=true controller-revision-hash=web-b"},
		"with the hash again where pods repeat it":           {asking(repeatsHash), web(), "update drained=true controller-revision-hash=web-b pod-template-hash=b"},
		"recreation deletes":                                 {asking(policy(member.Recreate)), web(), "delete(1)"},
		"what cannot change in place recreates":              {asking(command), web(), "delete(1)"},
		"or is refused":                                      {asking(command, policy(member.InPlaceOnly)), web(), "kept refused: pod web-0: spec.containers[app].command cannot change in place, and spec.how is InPlaceOnly"},
		"a pod that cannot be read is recreated":             {asking(), web(unreadable), "delete(1)"},
		"or kept, since tending it says why":                 {asking(policy(member.InPlaceOnly)), web(unreadable), "kept"},
		"a revision that nobody knows recreates":             {asking(), web(label(kruisev1alpha1.LabelRevision, "web-x")), "delete(1)"},
		"two revisions of one meaning only change the label": {asking(same), web(), "patch controller-revision-hash=web-b"},
		"both labels where pods repeat the hash":             {asking(same, repeatsHash), web(), "patch controller-revision-hash=web-b pod-template-hash=b"},

		"without a gate a pod is updated as it is":           {asking(), web(gateless), "update drained=false controller-revision-hash=web-b"},
		"or recreated where the gate is needed":              {asking(needsGate), web(gateless), "delete(1)"},
		"or updated with a warning":                          {asking(needsGate, policy(member.InPlaceOnly)), web(gateless), "update drained=false controller-revision-hash=web-b warned: " + noGate + ", so it is updated without leaving service"},
		"a gate that is needed and there changes nothing":    {asking(needsGate), web(), "update drained=true controller-revision-hash=web-b"},
		"nor is one needed where no container restarts":      {asking(needsGate, annotated), web(gateless), "update drained=false controller-revision-hash=web-b"},
		"or nothing changes at all":                          {asking(needsGate, same), web(gateless), "patch controller-revision-hash=web-b"},
		"the hook of deletions comes before that recreation": {asking(needsGate, hooks), web(gateless, label("delete", "hold"), label("update", "hold")), "patch state=PreparingDelete"},

		"a hook holds the update back":        {asking(hooks), web(label("update", "hold")), "patch state=PreparingUpdate"},
		"while it works on the pod, it waits": {asking(hooks), web(label("update", "hold"), in(kruisev1alpha1.LifecyclePreparingUpdate)), "held: the inPlaceUpdate hook holds pods"},
		"and then goes on":                    {asking(hooks), web(in(kruisev1alpha1.LifecyclePreparingUpdate)), "update drained=true controller-revision-hash=web-b state=Updating"},
		"a newer revision puts the hook back": {asking(hooks), web(in(kruisev1alpha1.LifecycleUpdated)), "patch state=PreparingUpdate update=hold"},
		"and one in the middle of an update just takes it over": {
			asking(hooks), web(label("update", "hold"), in(kruisev1alpha1.LifecycleUpdating)), "update drained=true controller-revision-hash=web-b state=Updating",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, told(c.set.UpdateOf(c.set.Judge(c.pod)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTend(t *testing.T) {
	shut := func(p *corev1.Pod) { p.Status.Conditions = nil }
	ungreeted := func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }
	preNormal := lifecycle.Hooks{PreNormal: hook("normal")}
	preDelete := lifecycle.Hooks{PreDelete: hook("delete")}
	all := preDelete
	all.PreparesAll = true
	unbound := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	fresh := in(kruisev1alpha1.LifecyclePreparingNormal)
	for sentence, c := range map[string]struct {
		set  *member.Set
		pod  *corev1.Pod
		want string
	}{
		"a settled pod needs nothing":                                   {asking(), web(), ""},
		"it gets the hash that it lacks":                                {asking(repeatsHash), web(), "patch pod-template-hash=a"},
		"a pod that runs is put into service":                           {asking(), web(shut), "SetConditions"},
		"not before its node has greeted it":                            {asking(), web(ungreeted), ""},
		"nor one without a gate":                                        {asking(), web(gateless, shut), ""},
		"a pod that cannot be read is left to people":                   {asking(), web(unreadable), "refused: pod web-0: reading annotation apps.kruise.io/inplace-update-state of pod web-0: unexpected end of JSON input"},
		"a prepared pod becomes normal":                                 {asking(hooked(preNormal)), web(fresh, label("normal", "hold")), "patch state=Normal"},
		"and waits as long as its hook is missing":                      {asking(hooked(preNormal)), web(fresh), ""},
		"where only the preNormal hook prepares, others do not hold it": {asking(hooked(preDelete)), web(fresh, unbound), "patch state=Normal"},
		"where every pod is prepared, it waits for its node":            {asking(hooked(all)), web(fresh, unbound), ""},
		"and no longer": {asking(hooked(all)), web(fresh), "patch state=Normal"},
		"a pod in its grace period is left alone":                        {asking(), web(inGrace("2026-01-01T00:59:50Z")), ""},
		"and changed when that is over":                                  {asking(), web(inGrace("2026-01-01T00:59:30Z")), "update drained=true"},
		"a pod that came back serves, and is drained again":              {asking(), web(inGrace("2026-01-01T00:59:30Z"), reported("True", 3600)), "SetConditions"},
		"its period begins when its node has noticed":                    {asking(), web(inGrace("2026-01-01T00:59:00Z"), reported("False", 20)), ""},
		"or when it was drained again":                                   {asking(), web(inGrace("2026-01-01T00:59:00Z"), reported("False", 60), drainedAgain(20)), ""},
		"and is over then":                                               {asking(), web(inGrace("2026-01-01T00:59:00Z"), reported("False", 60), drainedAgain(30)), "update drained=false"},
		"who comes back at once is not written against at once":          {asking(), web(inGrace("2026-01-01T00:59:30Z"), reported("True", 3600), drainedAgain(10)), ""},
		"and in the end it is changed all the same":                      {asking(), web(inGrace("2026-01-01T00:50:00Z"), reported("True", 3600), drainedAgain(200)), "update drained=true cuts its grace"},
		"the next batch of containers is brought":                        {asking(), web(nextBatch), "update drained=true"},
		"the node has the word while it restarts":                        {asking(), web(restarting, shut), ""},
		"a condition that nobody can read is told":                       {asking(), web(spoiled), "refused: pod web-0: reading condition KruisePodReady of pod web-0: invalid character 'b' looking for beginning of value"},
		"a pod that prepares for its update stays":                       {asking(hooked(lifecycle.Hooks{InPlaceUpdate: hook("update")})), web(in(kruisev1alpha1.LifecyclePreparingUpdate), label("update", "hold")), ""},
		"a pod that prepares for its deletion is left to the plan":       {asking(), web(in(kruisev1alpha1.LifecyclePreparingDelete)), ""},
		"an update that was taken back before it began leaves its state": {asking(hooked(lifecycle.Hooks{InPlaceUpdate: hook("update")})), web(current, in(kruisev1alpha1.LifecyclePreparingUpdate), label("update", "hold")), "patch state=Normal"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, told(c.set.Tend(c.set.Judge(c.pod)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeleteRevokeAndCallOff(t *testing.T) {
	held := hooked(lifecycle.Hooks{PreDelete: hook("delete"), InPlaceUpdate: hook("update")})
	strict := hooked(lifecycle.Hooks{PreDelete: marking(hook("delete"))})
	choosing := func(s *member.Set) { s.ChoosesRecreated = true }
	doomed := web(label("delete", "hold"))
	leaving := web(in(kruisev1alpha1.LifecyclePreparingDelete))
	preparing := web(in(kruisev1alpha1.LifecyclePreparingUpdate), label("update", "hold"))
	callOff := func(s *member.Set, p *corev1.Pod) member.Verdict { return s.CallOff(s.Judge(p)) }
	for sentence, c := range map[string]struct {
		got  member.Verdict
		want string
	}{
		"nothing holds a pod":                         {asking().Delete(doomed, step.ScaleIn, "x"), "delete(0)"},
		"a hook holds it":                             {asking(held).Delete(doomed, step.ScaleIn, "x"), "patch state=PreparingDelete"},
		"also before it is recreated":                 {asking(held).Delete(doomed, step.Recreate, "x"), "patch state=PreparingDelete"},
		"where it is chosen, lest it is called off":   {asking(held, choosing).Delete(doomed, step.Recreate, "x"), "patch specified-delete=true state=PreparingDelete"},
		"but not for other reasons":                   {asking(held, choosing).Delete(doomed, step.ScaleIn, "x"), "patch state=PreparingDelete"},
		"a pod that is wanted again is prepared anew": {asking(held).Revoke(leaving), "patch state=PreparingNormal"},
		"or normal at once where nobody watches":      {asking().Revoke(leaving), "patch state=Normal"},
		"or not wanted, as it was let down already":   {asking(strict).Revoke(leaving), ""},
		"an update is called off":                     {callOff(asking(held), preparing), "patch state=Normal"},
		"unless a condition cannot be read":           {callOff(asking(held), web(spoiled, in(kruisev1alpha1.LifecyclePreparingUpdate))), "refused: pod web-0: reading condition KruisePodReady of pod web-0: invalid character 'b' looking for beginning of value"},
		"only where one is prepared":                  {callOff(asking(held), web()), ""},
		"a condition that nobody can read": {
			asking(strict).Delete(web(spoiled, label("delete", "hold")), step.ScaleIn, "x"),
			"patch state=PreparingDelete refused: reading condition KruisePodReady of pod web-0: invalid character 'b' looking for beginning of value",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, told(c.got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestANewPod(t *testing.T) {
	template := func(t *corev1.PodTemplateSpec) {
		t.Labels["normal"], t.Finalizers = "hold", []string{"example.com/of-the-template"}
		t.Annotations = map[string]string{"note": "x", "name": "of the template"}
	}
	meta := metav1.ObjectMeta{
		Name: "web-7", Namespace: "here", Labels: map[string]string{"ordinal": "7"}, Annotations: map[string]string{"name": "of the kind"},
	}
	for sentence, c := range map[string]struct {
		set   *member.Set
		from  revision.Revision
		state kruisev1alpha1.LifecycleState
		gates string
		hash  string
	}{
		"of a set that recreates":            {asking(policy(member.Recreate)), stored("b", v2), "Normal", "", ""},
		"where all pods get the gate":        {asking(policy(member.Recreate), func(s *member.Set) { s.GatesAll = true }), stored("b", v2), "Normal", "InPlaceUpdateReady", ""},
		"of a set that updates in place":     {asking(), stored("b", v2), "Normal", "InPlaceUpdateReady", ""},
		"and leaves alone what it cannot":    {asking(policy(member.InPlaceOnly)), stored("b", v2), "Normal", "InPlaceUpdateReady", ""},
		"that repeats its hash":              {asking(repeatsHash), stored("b", v2), "Normal", "InPlaceUpdateReady", "b"},
		"before its preNormal hook":          {asking(hooked(lifecycle.Hooks{PreNormal: hook("normal")})), stored("b", v2), "PreparingNormal", "InPlaceUpdateReady", ""},
		"that has its handlers already":      {asking(hooked(lifecycle.Hooks{PreNormal: hook("normal")})), stored("b", v2, template), "Normal", "InPlaceUpdateReady", ""},
		"with another hook only":             {asking(hooked(lifecycle.Hooks{PreDelete: hook("delete")})), stored("b", v2), "Normal", "InPlaceUpdateReady", ""},
		"where every pod is prepared":        {asking(hooked(lifecycle.Hooks{PreDelete: hook("delete"), PreparesAll: true})), stored("b", v2, template), "PreparingNormal", "InPlaceUpdateReady", ""},
		"where nobody is there to prepare":   {asking(hooked(lifecycle.Hooks{PreparesAll: true})), stored("b", v2), "Normal", "InPlaceUpdateReady", ""},
		"that a hook takes out of service":   {asking(hooked(lifecycle.Hooks{PreDelete: marking(hook("delete"))})), stored("b", v2), "Normal", "InPlaceUpdateReady KruisePodReady", ""},
		"whose template has the gate itself": {asking(), stored("b", v2, func(t *corev1.PodTemplateSpec) { t.Spec.ReadinessGates = web().Spec.ReadinessGates }), "Normal", "InPlaceUpdateReady", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := c.from.Written.DeepCopy()
			created := c.set.New(c.from, meta)
			want := map[string]string{
				"app": "web", "ordinal": "7", kruisev1alpha1.LabelRevision: "web-b", kruisev1alpha1.LabelLifecycleState: string(c.state),
			}
			if c.hash != "" {
				want[kruisev1alpha1.LabelPodTemplateHash] = c.hash
			}
			if before.Labels["normal"] != "" {
				want["normal"] = "hold"
			}
			if diff := cmp.Diff(want, created.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			var gates []string
			for _, gate := range created.Spec.ReadinessGates {
				gates = append(gates, string(gate.ConditionType))
			}
			if got := strings.Join(gates, " "); got != c.gates {
				t.Errorf("gates are %q, want %q", got, c.gates)
			}
			if created.Annotations["name"] != "of the kind" || created.Annotations[kruisev1alpha1.AnnotationLifecycleTimestamp] != "2026-01-01T01:00:00Z" {
				t.Errorf("annotations are %v", created.Annotations)
			}
			if created.Name != "web-7" || created.Namespace != "here" || !slices.Equal(created.Finalizers, before.Finalizers) {
				t.Errorf("metadata is %+v", created.ObjectMeta)
			}
			if diff := cmp.Diff(before, c.from.Written); diff != "" || len(meta.Labels) != 1 {
				t.Errorf("what is shared was changed: labels %v, template (-before +after):\n%s", meta.Labels, diff)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	young := func(ago time.Duration) *corev1.Pod {
		return builders.Pod("web-0").Revision("web-b").ReadySince(now.Add(-ago)).Build()
	}
	minute := func(s *member.Set) { s.MinReadySeconds = 60 }
	for sentence, c := range map[string]struct {
		set  *member.Set
		pod  *corev1.Pod
		want member.Member
	}{
		"a pod of an older revision":                  {asking(), web(), member.Member{Ready: true, Available: true}},
		"one of the update revision":                  {asking(), web(current), member.Member{Updated: true, Ready: true, Available: true}},
		"one that is ready and not yet for long":      {asking(minute), young(20 * time.Second), member.Member{Updated: true, Ready: true, LookAgain: 40 * time.Second}},
		"one in its grace period":                     {asking(), web(current, inGrace("2026-01-01T00:59:50Z")), member.Member{Updated: true, LookAgain: 20 * time.Second}},
		"one that came back in it":                    {asking(), web(current, inGrace("2026-01-01T00:59:30Z"), reported("True", 3600), drainedAgain(10)), member.Member{Updated: true, LookAgain: 10 * time.Second}},
		"one that its label chooses":                  {asking(), web(label(kruisev1alpha1.LabelSpecifiedDelete, "true")), member.Member{Ready: true, Available: true, Chosen: true}},
		"one that the spec chooses by name":           {asking(func(s *member.Set) { s.ChosenNames = []string{"web-0"} }), web(), member.Member{Ready: true, Available: true, Chosen: true}},
		"one that is held before its deletion serves": {asking(), web(in(kruisev1alpha1.LifecyclePreparingDelete)), member.Member{Ready: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := c.set.Judge(c.pod)
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(member.Member{}, "Pod", "Progress")); diff != "" || got.Pod != c.pod {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// What was decoded before is used as long as the annotations are the same.
	readings := map[types.UID]inplace.Reading{"web-0-uid": inplace.Read(web(nextBatch))}
	s := asking(func(s *member.Set) {
		s.Readings, s.Unresizable = readings, map[types.UID]string{"web-0-uid": "too small"}
	})
	if m := s.Judge(web(nextBatch, current)); !m.Progress.NextBatch || m.Progress.Infeasible != "too small" {
		t.Errorf("a pod whose next batch the server will refuse counts as %+v", m)
	}
	if m := s.Judge(web(current)); m.Progress.NextBatch {
		t.Errorf("a pod whose annotations have changed since counts as %+v", m)
	}
	if m := asking().Judge(web(unreadable)); m.Unreadable == nil || !m.Available {
		t.Errorf("a pod that cannot be read counts as %+v", m)
	}
}
