// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/unit"
	"slipway.dev/slipway/test/builders"
)

func podTemplate(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
	}
}

// cafe is on app:3, in the middle of a release of two groups.
func cafe(change ...func(*cafev1alpha1.CafeDeployment)) *cafev1alpha1.CafeDeployment {
	d := &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "web-uid", Generation: 3, CreationTimestamp: metav1.NewTime(builders.Epoch())},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: ptr.To[int32](4), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podTemplate("app:3"),
			Topology: cafev1alpha1.Topology{Values: []string{"A", "B"}},
		},
		Status: cafev1alpha1.CafeDeploymentStatus{
			ObservedGeneration: 3, Replicas: 4, AvailableReplicas: 4, UpdatedReplicas: 2, UpdateRevision: "web-3", CurrentRevision: "web-2",
			Phase: cafev1alpha1.WaitingForConfirmPhase, CurrentGroup: 1,
			Groups: []cafev1alpha1.ReleaseGroup{
				{Index: 1, Kind: cafev1alpha1.BetaGroup, Done: true, Units: []cafev1alpha1.GroupQuota{{Name: "A", Pods: 1}, {Name: "B", Pods: 1}}},
				{Index: 2, Kind: cafev1alpha1.BatchGroup, Units: []cafev1alpha1.GroupQuota{{Name: "A", Pods: 1}, {Name: "B", Pods: 1}}},
			},
		},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

func annotated(confirmed, group string) func(*cafev1alpha1.CafeDeployment) {
	return func(d *cafev1alpha1.CafeDeployment) {
		d.Annotations = map[string]string{cafev1alpha1.AnnotationUpgradeConfirmed: confirmed, cafev1alpha1.AnnotationUpgradeGroup: group}
	}
}

func inPlaceSet() *cafev1alpha1.InPlaceSet {
	return &cafev1alpha1.InPlaceSet{
		ObjectMeta: metav1.ObjectMeta{Name: "cell", Namespace: "default", UID: "cell-uid"},
		Spec: cafev1alpha1.InPlaceSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, DeployUnit: "A", Template: podTemplate("app:2"),
		},
	}
}

func controllerRevision(t *testing.T, owner client.Object, number int64, template *corev1.PodTemplateSpec) *appsv1.ControllerRevision {
	t.Helper()
	data, err := revision.Data(template)
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", owner.GetName(), number), Namespace: owner.GetNamespace(),
			OwnerReferences: []metav1.OwnerReference{{UID: owner.GetUID(), Controller: ptr.To(true)}}},
		Revision: number, Data: runtime.RawExtension{Raw: data},
	}
}

// history is a world with revisions of each kind, and one of somebody else.
func history(t *testing.T, d *cafev1alpha1.CafeDeployment) []client.Object {
	t.Helper()
	clones := builders.CloneSet("front").Image("app:2").Build()
	stateful := builders.StatefulSet("db").Build()
	onDelete := builders.StatefulSet("manual").Build()
	onDelete.Spec.UpdateStrategy.Type = kruisev1beta1.OnDeleteStatefulSetStrategyType
	set := inPlaceSet()
	kept := inPlaceSet()
	kept.Name, kept.UID = "web-a", "web-a-uid"
	kept.OwnerReferences = []metav1.OwnerReference{{Kind: cafev1alpha1.CafeDeploymentKind, Name: "web", UID: "web-uid", Controller: ptr.To(true)}}
	older := clones.Spec.Template.DeepCopy()
	older.Spec.Containers[0].Image = "app:1"
	objects := []client.Object{d, clones, stateful, onDelete, set, kept,
		controllerRevision(t, clones, 1, older), controllerRevision(t, clones, 2, &clones.Spec.Template),
		controllerRevision(t, set, 1, unit.Within(ptr.To(podTemplate("app:1")), "", "A")), controllerRevision(t, set, 2, unit.Within(ptr.To(podTemplate("app:2")), "", "A")),
		controllerRevision(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "default", UID: "other-uid"}}, 9, ptr.To(podTemplate("app:9"))),
	}
	for n := range int64(3) {
		objects = append(objects, controllerRevision(t, d, n+1, ptr.To(podTemplate(fmt.Sprintf("app:%d", n+1)))))
	}
	return objects
}

func TestEdits(t *testing.T) {
	waits := annotated("false", "web-3/1")
	image := func(template corev1.PodTemplateSpec) string { return template.Spec.Containers[0].Image }
	for sentence, test := range map[string]struct {
		change func(*cafev1alpha1.CafeDeployment)
		args   []string
		out    string
		// after is what one field must be afterwards.
		object client.Object
		field  func(client.Object) string
		after  string
	}{
		"a confirmation says which group it lets begin": {
			waits, []string{"confirm", "web"}, "CafeDeployment default/web: group 2 of 2 (1 pod in A, 1 pod in B) may begin\n",
			&cafev1alpha1.CafeDeployment{}, func(o client.Object) string {
				return o.GetAnnotations()[cafev1alpha1.AnnotationUpgradeConfirmed] + " " + o.GetAnnotations()[cafev1alpha1.AnnotationUpgradeGroup]
			}, "true web-3/1",
		},
		"a dry run of it changes nothing": {
			waits, []string{"confirm", "web", "--dry-run"}, "CafeDeployment default/web: group 2 of 2 (1 pod in A, 1 pod in B) may begin (dry run: nothing was changed)\n",
			&cafev1alpha1.CafeDeployment{}, func(o client.Object) string { return o.GetAnnotations()[cafev1alpha1.AnnotationUpgradeConfirmed] }, "false",
		},
		"a confirmation of a paused one says what else it waits for": {
			func(d *cafev1alpha1.CafeDeployment) { waits(d); d.Spec.Strategy.Pause = true }, []string{"confirm", "web"},
			"CafeDeployment default/web: group 2 of 2 (1 pod in A, 1 pod in B) may begin, once `slipway resume web` has ended the pause\n", nil, nil, "",
		},
		"a name alone is that of a CafeDeployment": {
			nil, []string{"pause", "web"}, "CafeDeployment default/web: spec.strategy.pause is true: nothing new begins, and what is on its way ends\n",
			&cafev1alpha1.CafeDeployment{}, func(o client.Object) string { return fmt.Sprint(o.(*cafev1alpha1.CafeDeployment).Spec.Strategy.Pause) }, "true",
		},
		"what is paused already stays so": {
			func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = true }, []string{"pause", "web"}, "CafeDeployment default/web: is paused already\n", nil, nil, "",
		},
		"a paused one goes on": {
			func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = true }, []string{"resume", "cafe", "web"},
			"CafeDeployment default/web: spec.strategy.pause is false: the release goes on\n",
			&cafev1alpha1.CafeDeployment{}, func(o client.Object) string { return fmt.Sprint(o.(*cafev1alpha1.CafeDeployment).Spec.Strategy.Pause) }, "false",
		},
		"a CloneSet is paused": {
			nil, []string{"pause", "cloneset/front"}, "CloneSet default/front: spec.updateStrategy.paused is true: nothing new begins, and what is on its way ends\n",
			&kruisev1alpha1.CloneSet{}, func(o client.Object) string {
				return fmt.Sprint(o.(*kruisev1alpha1.CloneSet).Spec.UpdateStrategy.Paused)
			}, "true",
		},
		"a StatefulSet is paused, by a short name": {
			nil, []string{"pause", "sts/db"}, "StatefulSet default/db: spec.updateStrategy.rollingUpdate.paused is true: nothing new begins, and what is on its way ends\n",
			&kruisev1beta1.StatefulSet{}, func(o client.Object) string {
				return fmt.Sprint(o.(*kruisev1beta1.StatefulSet).Spec.UpdateStrategy.RollingUpdate.Paused)
			}, "true",
		},
		"an InPlaceSet that nobody keeps is not paused": {nil, []string{"resume", "inplaceset/cell"}, "InPlaceSet default/cell: is not paused\n", nil, nil, ""},
		"back to the template of before": {
			nil, []string{"undo", "web"}, "CafeDeployment default/web: spec.template is that of revision 2 (web-2) again: image of app app:3 -> app:2\n",
			&cafev1alpha1.CafeDeployment{}, func(o client.Object) string { return image(o.(*cafev1alpha1.CafeDeployment).Spec.Template) }, "app:2",
		},
		"back to a certain revision, of a paused one": {
			func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = true }, []string{"undo", "web", "--to-revision", "1"},
			"CafeDeployment default/web: spec.template is that of revision 1 (web-1) again: image of app app:3 -> app:1; it is paused, and released after `slipway resume`\n",
			&cafev1alpha1.CafeDeployment{}, func(o client.Object) string { return image(o.(*cafev1alpha1.CafeDeployment).Spec.Template) }, "app:1",
		},
		"back, of a CloneSet": {
			nil, []string{"undo", "cloneset/front"}, "CloneSet default/front: spec.template is that of revision 1 (front-1) again: image of app app:2 -> app:1\n",
			&kruisev1alpha1.CloneSet{}, func(o client.Object) string { return image(o.(*kruisev1alpha1.CloneSet).Spec.Template) }, "app:1",
		},
		"back, of an InPlaceSet, without the affinity to its unit": {
			nil, []string{"undo", "ips/cell"}, "InPlaceSet default/cell: spec.template is that of revision 1 (cell-1) again: image of app app:2 -> app:1\n",
			&cafev1alpha1.InPlaceSet{}, func(o client.Object) string {
				template := o.(*cafev1alpha1.InPlaceSet).Spec.Template
				return fmt.Sprintf("%s %v", image(template), template.Spec.Affinity)
			}, "app:1 nil",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := cafe()
			if test.change != nil {
				test.change(d)
			}
			r := newRun(t, history(t, d)...)
			if err := r.execute(t.Context(), t, test.args...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.out, r.out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if test.object == nil {
				return
			}
			_, name, err := target(shownKinds(), cafeKind(), test.args[1:min(len(test.args), 2)])
			if err != nil {
				t.Fatal(err)
			}
			if name == "cafe" {
				name = "web"
			}
			if err := r.client.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name}, test.object); err != nil {
				t.Fatal(err)
			}
			if got := test.field(test.object); got != test.after {
				t.Errorf("afterwards it is %q, want %q", got, test.after)
			}
		})
	}
}

func TestEditsAreRefused(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*cafev1alpha1.CafeDeployment)
		args   []string
		want   string
	}{
		"a confirmation that nobody waits for": {func(d *cafev1alpha1.CafeDeployment) { d.Status.Phase = cafev1alpha1.ProgressingPhase }, []string{"confirm", "web"},
			"no group of CafeDeployment default/web waits for a confirmation: releasing group 2 of 2: 1 pod in A, 1 pod in B; 2 of 4 pods updated"},
		"a second confirmation": {annotated("true", "web-3/1"), []string{"confirm", "web"},
			"CafeDeployment default/web is confirmed already, and the controller has not taken it up yet"},
		"a confirmation of what was asked for another spec": {func(d *cafev1alpha1.CafeDeployment) { annotated("false", "web-3/1")(d); d.Generation = 4 },
			[]string{"confirm", "web"}, "is one of before the last change of the spec"},
		"a confirmation of another kind":    {nil, []string{"confirm", "cloneset/web"}, `"cloneset" is no kind that this command knows, only: cafe`},
		"one that is not there":             {nil, []string{"confirm", "lost"}, `no CafeDeployment "lost" in namespace "default"`},
		"a kind that nobody knows":          {nil, []string{"pause", "deployment/web"}, `"deployment" is no kind that this command knows, only: cloneset, statefulset, inplaceset, cafe, rollout`},
		"no name":                           {nil, []string{"pause", "cloneset/"}, "names no object"},
		"a pod set of a CafeDeployment":     {nil, []string{"pause", "ips/web-a"}, "InPlaceSet default/web-a is kept by CafeDeployment web, which would write over the change"},
		"a set that is updated by deletion": {nil, []string{"pause", "sts/manual"}, "there is nothing to pause"},
		"an unknown revision":               {nil, []string{"undo", "web", "--to-revision", "7"}, "CafeDeployment default/web has no revision 7, only: 3 (app:3), 2 (app:2), 1 (app:1)"},
		"the revision that is there":        {nil, []string{"undo", "web", "--to-revision", "3"}, "spec.template of CafeDeployment default/web is that of revision 3 already"},
		"a revision without history":        {nil, []string{"undo", "sts/db", "--to-revision", "1"}, "StatefulSet default/db has no revision 1, and no other"},
		"nothing to go back to":             {nil, []string{"undo", "sts/db"}, "StatefulSet default/db has no earlier revision"},
		"a negative revision":               {nil, []string{"undo", "web", "--to-revision", "-1"}, "cannot be negative"},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := cafe()
			if test.change != nil {
				test.change(d)
			}
			r := newRun(t, history(t, d)...)
			err := r.execute(t.Context(), t, test.args...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if r.out.String() != "" {
				t.Errorf("output %q of a refusal", r.out.String())
			}
		})
	}
}

func TestACafeDeploymentIsShownAndSettles(t *testing.T) {
	ctx := t.Context()
	d := cafe(func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.Replicas, d.Spec.Topology.Values = ptr.To[int32](1), []string{"A"}
		d.Status = cafev1alpha1.CafeDeploymentStatus{ObservedGeneration: 3, Phase: cafev1alpha1.StablePhase, UpdateRevision: "web-3", CurrentRevision: "web-3",
			Replicas: 1, AvailableReplicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1}
	})
	set := inPlaceSet()
	set.Annotations = map[string]string{cafev1alpha1.AnnotationRevision: "web-3"}
	set.Labels = map[string]string{cafev1alpha1.LabelUnit: "A"}
	set.OwnerReferences = []metav1.OwnerReference{{Kind: cafev1alpha1.CafeDeploymentKind, Name: "web", UID: d.UID, Controller: ptr.To(true)}}
	set.Status.UpdateRevision = "cell-x"
	p := builders.Pod("cell-abc").Label("app", "web").Label(kruisev1alpha1.LabelRevision, "cell-x").With(func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{UID: set.UID, Controller: ptr.To(true)}}
	}).Build()

	fresh := p.DeepCopy() // a client notes versions in the objects that it is made with

	r := newRun(t, d, set, p)
	if err := r.execute(ctx, t, "get", "cafe", "web"); err != nil {
		t.Fatal(err)
	}
	if want := "└─ pods\n   └─ 1       ✔ cell-abc\n"; !strings.HasSuffix(r.out.String(), want) {
		t.Errorf("output:\n%s\nwant %q at its end", r.out.String(), want)
	}

	r = newRun(t, d, set)
	r.out.on = func(all string) {
		if !strings.HasSuffix(all, "0 of 1 pods exist\n") {
			return
		}
		if err := r.client.Create(ctx, fresh); err != nil {
			t.Error(err)
		}
	}
	if err := r.execute(ctx, t, "get", "cafe", "web", "--until-settled"); err != nil {
		t.Fatal(err)
	}
	want := "00:03:00 default/web scaling: 0 of 1 pods exist\n" +
		"00:03:00 default/web released: 1 of 1 pods updated and available\n" +
		"00:03:00 cell-abc is new: Available, revision 3\n"
	if diff := cmp.Diff(want, r.out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestWhoWritesMeanwhile(t *testing.T) {
	for sentence, test := range map[string]struct {
		meanwhile func(*cafev1alpha1.CafeDeployment)
		// always: it is written after each look, and not only after the first.
		always bool
		want   string
	}{
		"a controller that writes the status is in nobody's way": {
			meanwhile: func(d *cafev1alpha1.CafeDeployment) { d.Status.ReadyReplicas++ },
		},
		"but not without an end": {
			meanwhile: func(d *cafev1alpha1.CafeDeployment) { d.Status.ReadyReplicas++ }, always: true, want: "has just been changed by somebody else",
		},
		"what was decided on another spec is not written": {
			meanwhile: func(d *cafev1alpha1.CafeDeployment) { d.Generation, d.Status.ObservedGeneration = 4, 4 }, want: "has just been changed by somebody else",
		},
		"an answer is not given to the next question": {
			meanwhile: annotated("false", "web-3/2"), want: "has just been changed by somebody else",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := cafe(annotated("false", "web-3/1"))
			r := newRun(t, d)
			looks := 0
			r.client = interceptor.NewClient(r.client, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
					if err := c.Get(ctx, key, o, options...); err != nil {
						return err
					}
					if looks++; looks > 1 && !test.always {
						return nil
					}
					now := &cafev1alpha1.CafeDeployment{}
					if err := c.Get(ctx, key, now); err != nil {
						return err
					}
					test.meanwhile(now)
					return c.Update(ctx, now)
				},
			})
			err := r.execute(t.Context(), t, "confirm", "web")
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			now := &cafev1alpha1.CafeDeployment{}
			if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(d), now); err != nil {
				t.Fatal(err)
			}
			if got := now.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed]; got != map[bool]string{true: "true", false: "false"}[test.want == ""] {
				t.Errorf("the answer is %q", got)
			}
		})
	}
}
