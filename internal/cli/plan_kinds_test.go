// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/test/builders"
)

// liveKind is a kind of workloads in a cluster: one of them with all that belongs to it, two pods of which are available.
type liveKind struct {
	object   client.Object
	template *corev1.PodTemplateSpec
	beside   func(recorded *appsv1.ControllerRevision) []client.Object
	// recreates: its controller makes new pods for every new template.
	recreates bool
}

func plain(kind string) (metav1.TypeMeta, metav1.ObjectMeta, *metav1.LabelSelector, corev1.PodTemplateSpec) {
	return metav1.TypeMeta{APIVersion: "apps/v1", Kind: kind},
		metav1.ObjectMeta{Namespace: builders.Namespace, Name: "web", UID: "web-uid", CreationTimestamp: metav1.NewTime(builders.Epoch())},
		&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: builders.Container, Image: builders.Image}}},
		}
}

// pods are two of an owner, on nodes of their own.
func pods(owner client.Object, of, revision string, names ...string) (all []client.Object) {
	for i, name := range names {
		p := builders.Pod(name).Label("app", "web").Label(appsv1.ControllerRevisionHashLabelKey, revision).Node(fmt.Sprintf("node-%d", i)).ReadySince(builders.Epoch()).Build()
		p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(of))}
		all = append(all, p)
	}
	return all
}

func asPod(b *builders.PodBuilder) client.Object {
	p := b.Condition("InPlaceUpdateReady", corev1.ConditionTrue, "", builders.Epoch()).Build()
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return p
}

func liveDeployment() liveKind {
	kind, meta, selector, template := plain("Deployment")
	d := &appsv1.Deployment{TypeMeta: kind, ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: selector, Template: template}}
	return liveKind{object: d, template: &d.Spec.Template, recreates: true, beside: func(*appsv1.ControllerRevision) []client.Object {
		rs := &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](2), Selector: selector, Template: *template.DeepCopy()}}
		rs.Namespace, rs.Name, rs.UID, rs.Labels = meta.Namespace, "web-5d4f", "rs-uid", map[string]string{"app": "web"}
		rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
		return append(pods(rs, "ReplicaSet", "", "web-5d4f-1", "web-5d4f-2"), rs)
	}}
}

func liveStatefulSet() liveKind {
	kind, meta, selector, template := plain("StatefulSet")
	s := &appsv1.StatefulSet{TypeMeta: kind, ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2), Selector: selector, Template: template}}
	return liveKind{object: s, template: &s.Spec.Template, recreates: true, beside: func(r *appsv1.ControllerRevision) []client.Object {
		s.Status.CurrentRevision, s.Status.UpdateRevision = r.Name, r.Name
		return append(pods(s, "StatefulSet", r.Name, "web-0", "web-1"), r)
	}}
}

func liveDaemonSet() liveKind {
	kind, meta, selector, template := plain("DaemonSet")
	s := &appsv1.DaemonSet{TypeMeta: kind, ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
	return liveKind{object: s, template: &s.Spec.Template, recreates: true, beside: func(r *appsv1.ControllerRevision) []client.Object {
		return append(pods(s, "DaemonSet", revision.HashOf(r.Name), "web-a", "web-b"), r)
	}}
}

func liveAdvanced() liveKind {
	s := builders.StatefulSet("web").Replicas(2).InPlace().Build()
	return liveKind{object: s, template: &s.Spec.Template, beside: func(r *appsv1.ControllerRevision) []client.Object {
		s.Status.CurrentRevision, s.Status.UpdateRevision = r.Name, r.Name
		return []client.Object{r, asPod(builders.MemberPod(s, 0, r.Name)), asPod(builders.MemberPod(s, 1, r.Name))}
	}}
}

func liveInPlaceSet() liveKind {
	s := builders.InPlaceSet("web").Replicas(2).Build()
	return liveKind{object: s, template: &s.Spec.Template, beside: func(r *appsv1.ControllerRevision) []client.Object {
		s.Status.CurrentRevision, s.Status.UpdateRevision = r.Name, r.Name
		return []client.Object{r, asPod(builders.InPlacePod(s, "a", revision.HashOf(r.Name))), asPod(builders.InPlacePod(s, "b", revision.HashOf(r.Name)))}
	}}
}

func liveCafe() liveKind {
	_, meta, selector, template := plain("")
	d := &cafev1alpha1.CafeDeployment{
		TypeMeta: metav1.TypeMeta{APIVersion: cafev1alpha1.GroupVersion.String(), Kind: cafev1alpha1.CafeDeploymentKind}, ObjectMeta: meta,
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: ptr.To[int32](2), Selector: selector, Template: template, Topology: cafev1alpha1.Topology{Values: []string{"CellA", "CellB"}},
			Strategy: cafev1alpha1.CafeDeploymentStrategy{BatchSize: ptr.To[int32](1), NeedWaitingForConfirm: true},
		},
	}
	return liveKind{object: d, template: &d.Spec.Template, beside: func(r *appsv1.ControllerRevision) []client.Object {
		d.Status.CurrentRevision, d.Status.UpdateRevision = r.Name, r.Name
		all := []client.Object{r}
		for _, unit := range d.Spec.Topology.Values {
			d.Status.Units = append(d.Status.Units, cafev1alpha1.UnitStatus{Name: unit, Desired: 1})
			s := builders.InPlaceSet("web-" + strings.ToLower(unit)).Replicas(1).Build()
			s.Labels, s.Annotations = map[string]string{cafev1alpha1.LabelUnit: unit}, map[string]string{cafev1alpha1.AnnotationRevision: r.Name}
			s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind))}
			s.Spec.Strategy.Partition = ptr.To(intstr.FromInt32(0))
			s.Status = cafev1alpha1.InPlaceSetStatus{
				ObservedGeneration: 1, Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, UpdatedReplicas: 1, UpdatedReadyReplicas: 1, UpdatedAvailableReplicas: 1,
			}
			all = append(all, s)
		}
		return all
	}}
}

func liveKinds() map[string]func() liveKind {
	return map[string]func() liveKind{
		"Deployment": liveDeployment, "StatefulSet": liveStatefulSet, "DaemonSet": liveDaemonSet,
		"Advanced StatefulSet": liveAdvanced, "InPlaceSet": liveInPlaceSet, "CafeDeployment": liveCafe,
	}
}

// objects are the workload and all that belongs to it, and the manifest that it was made from, with an image.
func (k liveKind) objects(t *testing.T, image string) ([]client.Object, string) {
	t.Helper()
	id := k.object.GetObjectKind().GroupVersionKind()
	stored, err := revision.Draft{Owner: k.object, Reference: *metav1.NewControllerRef(k.object, id), Template: k.template, Number: 1}.Object()
	if err != nil {
		t.Fatal(err)
	}
	stored.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"}
	all := append(k.beside(stored), k.object.DeepCopyObject().(client.Object))
	k.template.Spec.Containers[0].Image = image
	k.object.SetUID("")
	k.object.SetGeneration(0)
	raw, err := yaml.Marshal(k.object)
	if err != nil {
		t.Fatal(err)
	}
	return all, file(t, "web.yaml", string(raw))
}

// Every kind that is known can be planned: as new, with nothing to do, and with a new image, by a cluster and without one.
func TestPlanKnowsEveryKind(t *testing.T) {
	if known := len(plannable("slipway").Kinds); known < len(liveKinds())+2 {
		t.Fatalf("%d kinds are known: %v", known, plannable("slipway").Kinds)
	}
	for title, live := range liveKinds() {
		changed := []string{title + " default/web: from revision web-", " cannot change in place: the ", "recreate"}
		if !live().recreates {
			changed = []string{title + " default/web: from revision web-", "update in place"}
		}
		if title == "DaemonSet" {
			changed[0] = title + " default/web: from revision "
		}
		for sentence, test := range map[string]struct {
			image  string
			isNew  bool
			status int
			says   []string
		}{
			"nothing to do": {builders.Image, false, ExitFine, []string{title + " default/web: stays at revision ", "the controller does nothing: 2 of 2 pods available"}},
			"a new image":   {"registry.test/app:v2", false, ExitChanges, changed},
			"new":           {builders.Image, true, ExitChanges, []string{title + " default/web: is new", "names of pods are examples"}},
		} {
			for _, offline := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, offline %t", title, sentence, offline), func(t *testing.T) {
					objects, manifest := live().objects(t, test.image)
					args := []string{"plan", "-f", manifest}
					switch {
					case offline && test.isNew:
						args = append(args, "--offline")
					case offline:
						args = append(args, "--offline", "--live", dump(t, objects))
					}
					if test.isNew {
						objects = nil
					}
					r := newRun(t, objects...)
					if err := r.execute(t.Context(), t, args...); ExitStatus(err) != test.status {
						t.Errorf("status %d, want %d; error %v", ExitStatus(err), test.status, err)
					}
					missing := slices.DeleteFunc(slices.Clone(test.says), func(s string) bool { return strings.Contains(r.out.String(), s) })
					if len(missing) > 0 {
						t.Errorf("does not say %q:\n%s", missing, r.out.String())
					}
				})
			}
		}
	}
}

func TestPlanNamesTheKindsThatItKnows(t *testing.T) {
	const all = "these kinds can be: AppRollout, CafeDeployment, CloneSet, DaemonSet, Deployment, InPlaceSet, RolloutTrait, StatefulSet (apps/v1), StatefulSet (apps.kruise.io/v1beta1)"
	for sentence, test := range map[string]struct{ text, want string }{
		"of others only": {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n",
			": holds nothing that can be planned, only Job, Service; " + all},
		"of nothing":              {"# nothing\n", ": holds nothing that can be planned; " + all},
		"of a version of another": {"apiVersion: apps.kruise.io/v1alpha1\nkind: StatefulSet\nmetadata: {name: a}\n", `: document 1 (StatefulSet a): apiVersion: StatefulSet of "apps.kruise.io/v1alpha1" is not known, only apps/v1 and apps.kruise.io/v1beta1`},
	} {
		path := file(t, "web.yaml", test.text)
		err := newRun(t).execute(t.Context(), t, "plan", "--offline", "-f", path)
		if err == nil || err.Error() != path+test.want {
			t.Errorf("a file %s: error %v, want %s", sentence, err, path+test.want)
		}
	}
}

// A file may hold several kinds, and what belongs to one of them is passed over.
func TestPlanGoesThroughAllKindsOfAFile(t *testing.T) {
	var texts []string
	for _, live := range []func() liveKind{liveAdvanced, liveDeployment} {
		k := live()
		k.object.SetUID("")
		raw, err := yaml.Marshal(k.object)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(raw))
	}
	path := file(t, "web.yaml", strings.Join(append(texts, "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"), "---\n"))
	r := newRun(t)
	if err := r.execute(t.Context(), t, "plan", "--offline", "-f", path, "-o", "json"); !errors.Is(err, ErrChanges) {
		t.Fatal(err)
	}
	var got struct {
		Kind  string
		Items []struct {
			APIVersion, Kind string
			LeastAvailable   *int
		}
	}
	if err := json.Unmarshal([]byte(r.out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kind != "Plans" || len(got.Items) != 2 || got.Items[0].APIVersion != kruisev1beta1.GroupVersion.String() ||
		got.Items[1].Kind != "Deployment" || got.Items[1].LeastAvailable == nil {
		t.Errorf("got %+v", got)
	}
}

// A live object changes while it is planned: its controller writes the status. Then it is read again.
func TestPlanReadsAgainWhatHasChangedMeanwhile(t *testing.T) {
	objects, manifest := liveDeployment().objects(t, "registry.test/app:v2")
	r := newRun(t, objects...)
	conflicts := 0
	r.client = interceptor.NewClient(r.client, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			if conflicts++; conflicts < 3 {
				return apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", errors.New("it has changed"))
			}
			return c.Update(ctx, o, options...)
		},
	})
	if err := r.execute(t.Context(), t, "plan", "-f", manifest); !errors.Is(err, ErrChanges) || conflicts != 3 {
		t.Errorf("error %v after %d tries", err, conflicts)
	}
}
