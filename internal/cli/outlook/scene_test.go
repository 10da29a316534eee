// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/saved"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/test/builders"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// fields are what stands in an object, by their paths.
type fields map[string]any

// scene is what there is before a rollout.
type scene struct {
	t       testing.TB
	objects []client.Object
}

// workload adds a workload at rest: n pods that are available, on its only revision. A kind whose pods are not its own, such as
// Deployment, has numbers only.
func (s *scene) workload(apiVersion, kind, name string, n int, change fields) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace("shop")
	o.SetName(name)
	o.SetUID(types.UID(name + "-uid"))
	o.SetGeneration(1)
	put(s.t, o, fields{
		"spec.replicas": int64(n), "spec.selector.matchLabels.app": name, "spec.template": template(name, "v1"), "status.observedGeneration": int64(1),
		"status.replicas": int64(n), "status.readyReplicas": int64(n), "status.availableReplicas": int64(n), "status.updatedReplicas": int64(n),
		"status.updatedAvailableReplicas": int64(n), "status.updatedReadyReplicas": int64(n),
	})
	if kind == "DaemonSet" {
		put(s.t, o, fields{
			"spec.replicas": nil, "status.replicas": nil, "status.desiredNumberScheduled": int64(n), "status.currentNumberScheduled": int64(n),
			"status.numberReady": int64(n), "status.numberAvailable": int64(n),
		})
	}
	put(s.t, o, change)
	s.objects = append(s.objects, o)
	if followers()[o.GroupVersionKind()] == nil {
		return o
	}
	stored := s.revision(o, 1)
	put(s.t, o, fields{"status.currentRevision": stored.Name, "status.updateRevision": stored.Name})
	for i := range n {
		s.objects = append(s.objects, s.pod(o, i, stored.Name))
	}
	return o
}

// revision stores the template of a workload.
func (s *scene) revision(o *unstructured.Unstructured, number int64) *appsv1.ControllerRevision {
	s.t.Helper()
	template := &corev1.PodTemplateSpec{}
	if err := read(o, template, "spec", "template"); err != nil {
		s.t.Fatal(err)
	}
	stored, err := revision.Draft{Owner: o, Reference: *metav1.NewControllerRef(o, o.GroupVersionKind()), Template: template, Number: number}.Object()
	if err != nil {
		s.t.Fatal(err)
	}
	stored.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"}
	s.objects = append(s.objects, stored)
	return stored
}

func (s *scene) pod(o *unstructured.Unstructured, i int, revisionName string) *corev1.Pod {
	name := fmt.Sprintf("%s-%d", o.GetName(), i)
	if o.GetKind() != "StatefulSet" {
		name = fmt.Sprintf("%s-p%d", o.GetName(), i)
	}
	p := builders.Pod(name).Label("app", o.GetName()).Label(kruisev1alpha1.LabelRevision, revisionName).Label(kruisev1alpha1.LabelInstanceID, fmt.Sprintf("p%d", i)).
		Label(kruisev1alpha1.LabelPodTemplateHash, revision.HashOf(revisionName)).Label(kruisev1beta1.LabelPodName, name).Label(kruisev1beta1.LabelPodIndex, fmt.Sprint(i)).
		Lifecycle(kruisev1alpha1.LifecycleNormal).Node(fmt.Sprintf("node-%d", i)).
		Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionTrue, "", builders.Epoch()).Build()
	p.Namespace = o.GetNamespace()
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(o, o.GroupVersionKind())}
	return p
}

// newer gives a workload a template with another image, and changes what else there is to change with it.
func (s *scene) newer(o *unstructured.Unstructured, change fields) {
	put(s.t, o, fields{"spec.template": template(o.GetName(), "v2")})
	put(s.t, o, change)
	o.SetGeneration(o.GetGeneration() + 1)
}

func template(name, tag string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": name}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": builders.Container, "image": "registry.test/app:" + tag}}},
	}
}

func put(t testing.TB, o *unstructured.Unstructured, change fields) {
	t.Helper()
	for name, value := range change {
		path := strings.Split(name, ".")
		if value == nil {
			unstructured.RemoveNestedField(o.Object, path...)
			continue
		}
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			t.Fatal(err)
		}
	}
}

// reader reads the scene as a cluster is read.
func (s *scene) reader() client.Reader {
	s.t.Helper()
	raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": s.objects})
	if err != nil {
		s.t.Fatal(err)
	}
	objects, err := saved.Read("scene", strings.NewReader(string(raw)), schemeOf(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	return objects
}

var flock = schema.GroupVersionKind{Group: "birds.example.com", Version: "v1", Kind: "Flock"}

// foresee is the outlook of a rollout that has the status of before, if that is given.
func (s *scene) foresee(r, before client.Object) *Outlook {
	s.t.Helper()
	o, err := Of(s.t.Context(), s.input(r, before), now)
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (s *scene) input(r, before client.Object) Input {
	s.t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(flock, meta.RESTScopeNamespace)
	return Input{Live: s.reader(), Mapper: mapper, Rollout: r, Before: before}
}

func schemeOf(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, kruisev1alpha1.AddToScheme, kruisev1beta1.AddToScheme, cafev1alpha1.AddToScheme, oamv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

// refusing is a reader who may read nothing that an application has.
type refusing struct{ client.Reader }

func (r refusing) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, is := o.(*oamv1beta1.ApplicationRevision); is {
		return apierrors.NewForbidden(oamv1beta1.GroupVersion.WithResource("applicationrevisions").GroupResource(), key.Name, errors.New("no rule says so"))
	}
	return r.Reader.Get(ctx, key, o, options...)
}

// rollout of a workload in these batches; the last one takes the rest when it is nil.
func rollout(target *unstructured.Unstructured, sizes ...any) *rolloutv1alpha1.RolloutTrait {
	r := &rolloutv1alpha1.RolloutTrait{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "release"}}
	r.Spec.TargetRef = ref(target)
	for _, size := range sizes {
		b := rolloutv1alpha1.RolloutBatch{}
		switch size := size.(type) {
		case int:
			b.Replicas = ptr.To(intstr.FromInt32(int32(size)))
		case string:
			b.Replicas = ptr.To(intstr.FromString(size))
		}
		r.Spec.RolloutPlan.RolloutBatches = append(r.Spec.RolloutPlan.RolloutBatches, b)
	}
	return r
}

func ref(o *unstructured.Unstructured) rolloutv1alpha1.WorkloadReference {
	return rolloutv1alpha1.WorkloadReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName()}
}
