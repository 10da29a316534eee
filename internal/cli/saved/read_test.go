// SPDX-License-Identifier: Apache-2.0

package saved

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const pods = `apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, labels: {app: web}}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: b, namespace: shop}}
- {apiVersion: v1, kind: Pod, metadata: {name: c, namespace: elsewhere, labels: {app: web}}}
- {apiVersion: v1, kind: Node, metadata: {name: one, labels: {zone: z}}}
- {apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}, spec: {size: 3}}
`

func read(t *testing.T, text string) (*Objects, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return Read("f.yaml", strings.NewReader(text), scheme)
}

func TestWhatWasSavedIsFoundAsInACluster(t *testing.T) {
	o, err := read(t, pods)
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		options []client.ListOption
		want    []string
	}{
		"all":                      {nil, []string{"a", "b", "c"}},
		"of a namespace":           {[]client.ListOption{client.InNamespace("shop")}, []string{"a", "b"}},
		"with a label":             {[]client.ListOption{client.MatchingLabels{"app": "web"}}, []string{"a", "c"}},
		"of a namespace with none": {[]client.ListOption{client.InNamespace("nowhere")}, nil},
		"both":                     {[]client.ListOption{client.InNamespace("shop"), client.MatchingLabels{"app": "web"}}, []string{"a"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var list corev1.PodList
			if err := o.List(t.Context(), &list, test.options...); err != nil {
				t.Fatal(err)
			}
			var names []string
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := o.List(t.Context(), &corev1.PodList{}, client.MatchingFields{"spec.nodeName": "n"}); err == nil {
		t.Error("a search by field finds everything")
	}
}

func TestOneObjectIsFoundByKindAndName(t *testing.T) {
	o, err := read(t, pods)
	if err != nil {
		t.Fatal(err)
	}
	nodes := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
	if err := o.List(t.Context(), &nodes); err != nil || len(nodes.Items) != 1 || nodes.Items[0].Labels["zone"] != "z" {
		t.Errorf("nodes %v, error %v", nodes.Items, err)
	}
	widget := &unstructured.Unstructured{}
	widget.SetAPIVersion("example.com/v1")
	widget.SetKind("Widget")
	if err := o.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "w"}, widget); err != nil {
		t.Errorf("a kind that is not known: %v", err)
	}
	if size, _, err := unstructured.NestedInt64(widget.Object, "spec", "size"); size != 3 || err != nil {
		t.Errorf("size %d, error %v", size, err)
	}
	if err := o.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "c"}, &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("of another namespace: %v", err)
	}
}

func TestWhatCannotBeOfItsKindIsRefused(t *testing.T) {
	for sentence, test := range map[string]struct{ text, want string }{
		"a text for a number": {"apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: r}\nrevision: two\n",
			"f.yaml: document 1 (ControllerRevision r): json: cannot unmarshal string"},
		"no object": {"[1]\n", "f.yaml: document 1: is not an object of Kubernetes"},
	} {
		if _, err := read(t, test.text); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", sentence, err, test.want)
		}
	}
}
