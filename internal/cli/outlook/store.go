// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/story"
)

// Wanted is a workload as it will be once the manifests are applied that are planned together with the rollout. Live is nil when
// there is none, and so is the answer. What they do not change is returned as it is.
type Wanted func(ctx context.Context, id schema.GroupVersionKind, key client.ObjectKey, live *unstructured.Unstructured) (*unstructured.Unstructured, error)

// asTheyAre changes no workload.
func asTheyAre(_ context.Context, _ schema.GroupVersionKind, _ client.ObjectKey, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return live, nil
}

// store is a copy of the workloads and of what is theirs, read when it is asked for first. The adapters read it as they read a
// cluster.
type store struct {
	live   client.Reader
	wanted Wanted

	workloads map[place]*workload
	pods      []*corev1.Pod
	revisions []*appsv1.ControllerRevision
	claims    []*corev1.PersistentVolumeClaim
	// refused is the first read that was forbidden.
	refused error
}

var _ client.Reader = (*store)(nil)

// place is where an object is.
type place struct {
	id  schema.GroupVersionKind
	key client.ObjectKey
}

// workload is one of the workloads; without an object when there is none.
type workload struct {
	object *unstructured.Unstructured
	// version counts the changes of it and of its pods, and followed is the one that its controller has followed.
	version, followed int
	// tally are its pods where only numbers are known of them.
	tally *tally
	// recreated are pods that the rollout itself has deleted, and that its controller has not replaced yet.
	recreated []story.Action
}

// plannedUID stands for the UID that an object gets when it is created.
func plannedUID(id schema.GroupVersionKind, name string) types.UID {
	return types.UID("planned-" + id.Kind + "-" + name)
}

// Get reads a workload, a revision, or what is beneath.
func (s *store) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		w, err := s.workload(ctx, into.GroupVersionKind(), key)
		if err != nil {
			return s.noticed(err)
		}
		if w.object == nil {
			return apierrors.NewNotFound(schema.GroupResource{Group: into.GroupVersionKind().Group, Resource: into.GetKind()}, key.Name)
		}
		w.object.DeepCopyInto(into)
		return nil
	case *appsv1.ControllerRevision:
		for _, r := range s.revisions {
			if r.Name == key.Name && r.Namespace == key.Namespace {
				r.DeepCopyInto(into)
				return nil
			}
		}
		return apierrors.NewNotFound(appsv1.SchemeGroupVersion.WithResource("controllerrevisions").GroupResource(), key.Name)
	}
	return s.noticed(s.live.Get(ctx, key, into, options...))
}

// noticed keeps an error that says that reading is forbidden.
func (s *store) noticed(err error) error {
	if s.refused == nil && apierrors.IsForbidden(err) {
		s.refused = err
	}
	return err
}

// List reads pods, revisions or workloads of a kind.
func (s *store) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	fits := func(o client.Object) bool {
		return (asked.Namespace == "" || asked.Namespace == o.GetNamespace()) && (asked.LabelSelector == nil || asked.LabelSelector.Matches(labels.Set(o.GetLabels())))
	}
	switch into := into.(type) {
	case *corev1.PodList:
		for _, p := range s.pods {
			if fits(p) {
				into.Items = append(into.Items, *p.DeepCopy())
			}
		}
	case *appsv1.ControllerRevisionList:
		for _, r := range s.revisions {
			if fits(r) {
				into.Items = append(into.Items, *r.DeepCopy())
			}
		}
	case *unstructured.UnstructuredList:
		return s.noticed(s.list(ctx, into, fits, options...))
	default:
		return fmt.Errorf("%T is not kept", into)
	}
	return nil
}

// list reads workloads of a kind, those that were made meanwhile among them.
func (s *store) list(ctx context.Context, into *unstructured.UnstructuredList, fits func(client.Object) bool, options ...client.ListOption) error {
	if err := s.live.List(ctx, into, options...); err != nil {
		return err
	}
	id := into.GroupVersionKind()
	id.Kind = strings.TrimSuffix(id.Kind, "List")
	for i := range into.Items {
		if _, err := s.workload(ctx, id, client.ObjectKeyFromObject(&into.Items[i])); err != nil {
			return err
		}
	}
	into.Items = nil
	for at, w := range s.workloads {
		if at.id == id && w.object != nil && fits(w.object) {
			into.Items = append(into.Items, *w.object.DeepCopy())
		}
	}
	slices.SortFunc(into.Items, func(a, b unstructured.Unstructured) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return nil
}

// workload is the copy of a workload. It is read at the first time, with what is its own.
func (s *store) workload(ctx context.Context, id schema.GroupVersionKind, key client.ObjectKey) (*workload, error) {
	at := place{id, key}
	if w := s.workloads[at]; w != nil {
		return w, nil
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(id)
	switch err := s.live.Get(ctx, key, live); {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		live = nil
	case err != nil:
		return nil, err
	}
	w := &workload{version: 1}
	object, err := s.wanted(ctx, id, key, live)
	if err != nil {
		return nil, err
	}
	if object != nil {
		w.object = object.DeepCopy()
		switch {
		case live == nil:
			w.object.SetUID(plannedUID(id, key.Name))
			w.object.SetGeneration(1)
			delete(w.object.Object, "status")
		case !equality.Semantic.DeepEqual(live.Object["spec"], object.Object["spec"]):
			w.object.SetGeneration(live.GetGeneration() + 1)
		}
		if err := s.readOwn(ctx, id, w.object); err != nil {
			return nil, err
		}
	}
	s.workloads[at] = w
	return w, nil
}

// readOwn reads pods and what else belongs to a workload, for kinds whose pods are foreseen one by one.
func (s *store) readOwn(ctx context.Context, id schema.GroupVersionKind, o *unstructured.Unstructured) error {
	if followers()[id] == nil {
		return nil
	}
	asked := &metav1.LabelSelector{}
	if err := read(o, asked, "spec", "selector"); err != nil {
		return fmt.Errorf("reading spec.selector of %s %s: %w", id.Kind, o.GetName(), err)
	}
	selector, err := metav1.LabelSelectorAsSelector(asked)
	if err != nil || selector.Empty() {
		return nil //nolint:nilerr // no pod is found by a selector that nobody can read: its own controller says so
	}
	within := []client.ListOption{client.InNamespace(o.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}}
	var pods corev1.PodList
	if err := s.live.List(ctx, &pods, within...); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; pod.IsControlledBy(p, o.GetUID()) {
			s.pods = append(s.pods, p)
		}
	}
	var revisions appsv1.ControllerRevisionList
	if err := s.live.List(ctx, &revisions, within...); err != nil {
		return fmt.Errorf("listing revisions: %w", err)
	}
	for i := range revisions.Items {
		if r := &revisions.Items[i]; pod.IsControlledBy(r, o.GetUID()) {
			s.revisions = append(s.revisions, r)
		}
	}
	if templates, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates"); len(templates) == 0 {
		return nil
	}
	var claims corev1.PersistentVolumeClaimList
	if err := s.live.List(ctx, &claims, client.InNamespace(o.GetNamespace())); err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for i := range claims.Items {
		s.claims = append(s.claims, &claims.Items[i])
	}
	return nil
}

// replace stores a workload as it was changed: a server counts changes of the spec.
func (s *store) replace(w *workload, after *unstructured.Unstructured) {
	after = after.DeepCopy()
	if !equality.Semantic.DeepEqual(w.object.Object["spec"], after.Object["spec"]) {
		after.SetGeneration(w.object.GetGeneration() + 1)
		w.version++
	}
	w.object = after
}

// podsOf are the pods that a workload controls.
func (s *store) podsOf(o client.Object) []*corev1.Pod {
	var own []*corev1.Pod
	for _, p := range s.pods {
		if pod.IsControlledBy(p, o.GetUID()) {
			own = append(own, p)
		}
	}
	return own
}

// setPods gives a workload other pods than it had.
func (s *store) setPods(o client.Object, own []*corev1.Pod) {
	s.pods = slices.DeleteFunc(s.pods, func(p *corev1.Pod) bool { return pod.IsControlledBy(p, o.GetUID()) })
	s.pods = append(s.pods, own...)
}

// remove takes a pod away.
func (s *store) remove(uid types.UID) {
	s.pods = slices.DeleteFunc(s.pods, func(p *corev1.Pod) bool { return p.UID == uid })
}

// read reads a part of an object into a type; into is left alone when nothing stands there.
func read(o *unstructured.Unstructured, into any, path ...string) error {
	value, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// report writes numbers and names into the status of a workload.
func report(o *unstructured.Unstructured, fields map[string]any) error {
	for name, value := range fields {
		if n, isInt := value.(int); isInt {
			value = int64(n)
		}
		if err := unstructured.SetNestedField(o.Object, value, "status", name); err != nil {
			return fmt.Errorf("status.%s of %s %s: %w", name, o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
