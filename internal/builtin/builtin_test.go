// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/told"
)

var now = builders.Epoch().Add(time.Hour)

func metaOf(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: builders.Namespace, Name: name, UID: "web-uid", CreationTimestamp: metav1.NewTime(builders.Epoch())}
}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
	}
}

func owned(name, hash string, owner metav1.Object, kind string) *corev1.Pod {
	p := builders.Pod(name).Label(appsv1.ControllerRevisionHashLabelKey, hash).ReadySince(builders.Epoch()).Build()
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))}
	return p
}

// replicaSet is one of a Deployment, with so many available pods.
func replicaSet(d *appsv1.Deployment, hash, image string, pods int) (*appsv1.ReplicaSet, []*corev1.Pod) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metaOf("web-" + hash), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(pods)), Template: template(image)}}
	rs.UID = types.UID(hash)
	rs.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	rs.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	var all []*corev1.Pod
	for i := range pods {
		all = append(all, owned(fmt.Sprintf("%s-p%d", rs.Name, i), "", rs, "ReplicaSet"))
	}
	return rs, all
}

func names(pods []*corev1.Pod) (all []string) {
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}

func count(s story.Story, verb story.Verb) (n int) {
	for _, a := range s.Pods() {
		if a.Verb == verb {
			n++
		}
	}
	return n
}

// A Deployment never has fewer available pods than maxUnavailable leaves, nor more pods than maxSurge allows, and ends with
// all of them new.
func TestDeploymentsStayWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int32Range(1, 9).Draw(rt, "replicas")
		surge, down := rapid.IntRange(0, 4).Draw(rt, "surge"), rapid.IntRange(0, 4).Draw(rt, "unavailable")
		d := &appsv1.Deployment{ObjectMeta: metaOf("web"), Spec: appsv1.DeploymentSpec{
			Replicas: &n, Template: template("app:v3"), MinReadySeconds: rapid.Int32Range(0, 9).Draw(rt, "minReady"),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: ptr.To(intstr.FromInt(surge)), MaxUnavailable: ptr.To(intstr.FromInt(down)),
			}},
		}}
		var live Live
		left := int(n)
		for i, image := range []string{"app:v1", "app:v2", "app:v3"} {
			share := left
			if i < 2 {
				share = rapid.IntRange(0, left).Draw(rt, image)
			}
			left -= share
			rs, pods := replicaSet(d, fmt.Sprintf("hash%d", i), image, share)
			live.ReplicaSets, live.Pods = append(live.ReplicaSets, rs), append(live.Pods, pods...)
		}
		older := len(slices.DeleteFunc(names(live.Pods), func(name string) bool { return strings.HasPrefix(name, "web-hash2") }))
		s, err := Deployment(d, live, now)
		if err != nil {
			rt.Fatal(err)
		}
		if err := told.Follow(s, names(live.Pods)); err != nil {
			rt.Fatalf("the story contradicts itself: %v\n%+v", err, s.Moments)
		}
		if surge == 0 && down == 0 {
			down = 1
		}
		if s.Least < int(n)-down || s.End.Total != int(n) || count(s, story.Recreate) != older {
			rt.Fatalf("at least %d of %d pods are available, in the end %+v, and %d of %d older pods go:\n%+v", s.Least, n, s.End, count(s, story.Recreate), older, s.Moments)
		}
		for i, m := range s.Moments {
			if m.After.Total > int(n)+surge {
				rt.Fatalf("moment %d: %d pods of %d, with a surge of %d", i+1, m.After.Total, n, surge)
			}
		}
	})
}

// A StatefulSet is updated from above, one pod after the other down to the partition, whatever else happens.
func TestStatefulSetsAreUpdatedFromAbove(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, partition := rapid.Int32Range(1, 6).Draw(rt, "replicas"), rapid.Int32Range(0, 7).Draw(rt, "partition")
		start := rapid.Int32Range(0, 3).Draw(rt, "start")
		s := &appsv1.StatefulSet{ObjectMeta: metaOf("web"), Spec: appsv1.StatefulSetSpec{
			Replicas: &n, Ordinals: &appsv1.StatefulSetOrdinals{Start: start}, Template: template("app:v1"), PodManagementPolicy: rapid.SampledFrom([]appsv1.PodManagementPolicyType{"OrderedReady", "Parallel"}).Draw(rt, "policy"),
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
			},
		}}
		s.Status.CurrentRevision, s.Status.UpdateRevision = "web-a", "web-a"
		var live Live
		for i := range n {
			live.Pods = append(live.Pods, owned(fmt.Sprintf("web-%d", start+i), "web-a", s, "StatefulSet"))
		}
		wanted := s.DeepCopy()
		wanted.Spec.Template = template("app:v2")
		tale, err := StatefulSet(wanted, s, live, now)
		if err != nil {
			rt.Fatal(err)
		}
		if err := told.Follow(tale, names(live.Pods)); err != nil {
			rt.Fatalf("the story contradicts itself: %v\n%+v", err, tale.Moments)
		}
		var want, got []string
		for i := n - 1; i >= partition; i-- { // a partition counts from the first ordinal on
			want = append(want, fmt.Sprintf("recreate web-%d", start+i), fmt.Sprintf("create web-%d", start+i))
		}
		for _, a := range tale.Pods() {
			got = append(got, fmt.Sprintf("%s %s", a.Verb, a.Object))
		}
		if !slices.Equal(got, want) || (len(want) > 0) != (tale.Least == int(n)-1) {
			rt.Fatalf("got %q, want %q; at least %d of %d are available", got, want, tale.Least, n)
		}
	})
}

// A DaemonSet keeps to its bounds, and ends with one new pod on each node.
func TestDaemonSetsStayWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, surge, down := rapid.IntRange(1, 7).Draw(rt, "nodes"), rapid.IntRange(0, 3).Draw(rt, "surge"), 0
		if surge == 0 {
			down = rapid.IntRange(1, 3).Draw(rt, "unavailable")
		}
		s := &appsv1.DaemonSet{ObjectMeta: metaOf("web"), Spec: appsv1.DaemonSetSpec{
			Template: template("app:v1"), UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: ptr.To(intstr.FromInt(surge)), MaxUnavailable: ptr.To(intstr.FromInt(down))},
			},
		}}
		var live Live
		for i := range n {
			p := owned(fmt.Sprintf("web-p%d", i), "web-a", s, "DaemonSet")
			if p.Spec.NodeName = fmt.Sprintf("node-%d", i); rapid.Bool().Draw(rt, "not scheduled yet") {
				made := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{p.Spec.NodeName}}
				p.Spec.NodeName, p.Spec.Affinity = "", &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{made}}},
				}}}
			}
			live.Pods = append(live.Pods, p)
		}
		wanted := s.DeepCopy()
		wanted.Spec.Template = template("app:v2")
		tale, err := DaemonSet(wanted, s, live, now)
		if err != nil {
			rt.Fatal(err)
		}
		if err := told.Follow(tale, names(live.Pods)); err != nil {
			rt.Fatalf("the story contradicts itself: %v\n%+v", err, tale.Moments)
		}
		if tale.Least < n-down || tale.End.Total != n || count(tale, story.Recreate) != n || count(tale, story.Create) != n {
			rt.Fatalf("at least %d of %d available, in the end %+v:\n%+v", tale.Least, n, tale.End, tale.Moments)
		}
		for i, m := range tale.Moments {
			if m.After.Total > n+surge {
				rt.Fatalf("moment %d: %d pods on %d nodes, with a surge of %d", i+1, m.After.Total, n, surge)
			}
		}
	})
}

// To go back to a template that history still has is to go back to its revision.
func TestARevisionOfHistoryIsKnownAgain(t *testing.T) {
	s := &appsv1.StatefulSet{ObjectMeta: metaOf("web"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1), Template: template("app:v2")}}
	s.Status.CurrentRevision, s.Status.UpdateRevision = "web-b", "web-b"
	old := &appsv1.ControllerRevision{ObjectMeta: metaOf("web-a"), Data: runtime.RawExtension{
		Raw: []byte(`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"}},"spec":{"containers":[{"image":"app:v1","name":"app"}]}}}}`),
	}}
	old.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	live := Live{Pods: []*corev1.Pod{owned("web-0", "web-b", s, "StatefulSet")}, Revisions: []*appsv1.ControllerRevision{old}}
	wanted := s.DeepCopy()
	wanted.Spec.Template = template("app:v1")
	tale, err := StatefulSet(wanted, s, live, now)
	if err != nil || tale.FromRevision != "web-b" || tale.ToRevision != "web-a" || tale.Pods()[1].To != "a" {
		t.Errorf("from %q to %q by %+v; error %v", tale.FromRevision, tale.ToRevision, tale.Pods(), err)
	}
}

func TestNodesAreChosenByTheirLabels(t *testing.T) {
	nodes := map[string]map[string]string{"one": {"zone": "a", "cores": "4"}, "two": {"zone": "b", "cores": "16"}, "three": {"zone": "b"}}
	term := func(r ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: r}
	}
	for sentence, test := range map[string]struct {
		selector map[string]string
		terms    []corev1.NodeSelectorTerm
		want     string
	}{
		"all":                                   {nil, nil, "one three two"},
		"by a selector":                         {map[string]string{"zone": "b"}, nil, "three two"},
		"by one of several terms":               {nil, []corev1.NodeSelectorTerm{term(corev1.NodeSelectorRequirement{Key: "zone", Operator: "In", Values: []string{"a"}}), term(corev1.NodeSelectorRequirement{Key: "cores", Operator: "DoesNotExist"})}, "one three"},
		"by all of a term":                      {nil, []corev1.NodeSelectorTerm{term(corev1.NodeSelectorRequirement{Key: "zone", Operator: "Exists"}, corev1.NodeSelectorRequirement{Key: "cores", Operator: "Gt", Values: []string{"8"}})}, "two"},
		"by selector and term":                  {map[string]string{"zone": "b"}, []corev1.NodeSelectorTerm{term(corev1.NodeSelectorRequirement{Key: "cores", Operator: "Exists"})}, "two"},
		"none, by a term that asks for nothing": {nil, []corev1.NodeSelectorTerm{{}}, ""},
	} {
		spec := &corev1.PodSpec{NodeSelector: test.selector}
		if test.terms != nil {
			spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: test.terms}}}
		}
		var found []string
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			ok, err := fits(spec, name, nodes[name])
			if err != nil {
				t.Errorf("%s: %v", sentence, err)
			}
			if ok {
				found = append(found, name)
			}
		}
		if got := strings.Join(found, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", sentence, got, test.want)
		}
	}
}
