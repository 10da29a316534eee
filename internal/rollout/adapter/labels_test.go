// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What a query of a metric selects new pods by is what these pods carry.
func TestWhatNewPodsCarry(t *testing.T) {
	labelled := func(number int, labels map[string]string, owner metav1.OwnerReference) *corev1.Pod {
		p := podOf(number, "old")
		p.Labels, p.OwnerReferences = labels, []metav1.OwnerReference{owner}
		return p
	}
	replicas := func(name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: "rs", Controller: ptr.To(true)}
	}
	podset := func(kind Kind, name, revision, update string) client.Object {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetGroupVersionKind(kind.ID())
		o.SetNamespace("shop")
		o.SetName(name)
		o.SetLabels(map[string]string{"cafe.sofastack.io/cafedeployment": "web"})
		o.SetOwnerReferences(owned())
		o.SetAnnotations(map[string]string{"cafe.sofastack.io/revision": revision})
		put(o, fields{"status.updateRevision": update})
		return o
	}
	short := podOf(3, "new")
	short.Labels["controller-revision-hash"] = "new"
	for sentence, c := range map[string]struct {
		kind   string
		change fields
		others []client.Object
		want   string
	}{
		"of a StatefulSet, the name of the revision":     {"StatefulSet", nil, halfway, "web-new"},
		"of an advanced one, too":                        {"Advanced", nil, halfway, "web-new"},
		"of a CloneSet":                                  {"CloneSet", nil, halfway, "web-new"},
		"of a CloneSet whose publisher writes the hash":  {"CloneSet", nil, []client.Object{podOf(0, "old"), short}, "new"},
		"of an InPlaceSet":                               {"InPlaceSet", nil, halfway, "web-new"},
		"of a DaemonSet, its hash":                       {"DaemonSet", nil, []client.Object{podOf(0, "old"), short}, "new"},
		"before there is a pod, what it will carry":      {"CloneSet", nil, podsOn("old"), "web-new"},
		"of a kind that does not tell, nothing is known": {"Herd", nil, halfway, ""},
		"of a Deployment, the hash of its ReplicaSet": {"Deployment", nil, []client.Object{
			labelled(0, map[string]string{"app": "web", "pod-template-hash": "6d4b"}, replicas("web-6d4b")),
			labelled(1, map[string]string{"app": "web", "pod-template-hash": "77"}, replicas("other-77")),
		}, "6d4b"},
		"of a Deployment without pods, nothing is known": {"Deployment", nil, nil, ""},
		"of a CafeDeployment, one for each unit": {"CafeDeployment", nil, []client.Object{
			podset(inPlaceSet{}, "web-b", "web-new", "web-b-22"), podset(inPlaceSet{}, "web-a", "web-new", "web-a-11"), podset(inPlaceSet{}, "web-c", "web-old", "web-c-33"),
		}, "web-a-11|web-b-22"},
		"of one with StatefulSets": {"CafeDeployment", fields{"spec.podSetType": "AdvancedStatefulSet"}, []client.Object{
			podset(advancedStatefulSet{}, "web-a", "web-new", "web-a-11"), podset(inPlaceSet{}, "web-b", "web-new", "web-b-22"),
		}, "web-a-11"},
		"of one with ReplicaSets, the hash of its own revision": {"CafeDeployment", fields{"spec.podSetType": "ReplicaSet"}, nil, "new"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := server(t, workload(t, c.kind, c.change), append(bothRevisions(t), c.others...)...)
			a := &Adapters{Live: s, Mapper: s.RESTMapper(), Registry: registry(t)}
			got, err := a.RevisionLabel(t.Context(), observe(t, c.kind, s, Ask{Pair: true}))
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}
