// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Adapters observe workloads.
type Adapters struct {
	// Live reads from the API server and not from a cache: a decision on an old view of a workload could move more pods than
	// it should. It has to know the types of core/v1, apps/v1 and meta/v1.
	Live client.Reader
	// Mapper tells of kinds how their CustomResourceDefinition is called.
	Mapper apimeta.RESTMapper
	// Registry knows kinds.
	Registry Registry
}

// Observe reads a workload and what has to be read besides. A workload that is not there, or that cannot be driven, is no error:
// what is seen says so.
func (a *Adapters) Observe(ctx context.Context, namespace string, ref rolloutv1alpha1.WorkloadReference, by Holder, ask Ask, now time.Time) (Seen, error) {
	kind, unfit, err := a.kind(ctx, ref)
	s := Seen{Kind: kind, ask: ask}
	s.Workload.Unfit = unfit
	if err != nil || kind == nil {
		return s, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind.ID())
	switch err := a.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, object); {
	case apierrors.IsNotFound(err):
		return s, nil
	case apimeta.IsNoMatchError(err):
		s.Workload.Unfit = fmt.Sprintf("there is no kind %s of %s in this cluster", ref.Kind, ref.APIVersion)
		return s, nil
	case err != nil:
		return s, fmt.Errorf("reading %s %s: %w", ref.Kind, ref.Name, err)
	}
	s.Object = object
	return s, a.fill(ctx, &s, by, now)
}

// fill reads out of an object, and of what has to be read besides, all that the engine wants to know.
func (a *Adapters) fill(ctx context.Context, s *Seen, by Holder, now time.Time) error {
	w, where := &s.Workload, s.Kind.places()
	w.Found, w.Going = true, s.Object.GetDeletionTimestamp() != nil
	w.Owner, w.Held = by.other(s.Object), by.holds(s.Object)
	w.Paused = where.paused.truth(s.Object)
	w.Frozen = w.Paused && where.stopsAll
	if w.Held && len(where.partition) > 0 && where.partition.get(s.Object) == nil {
		w.Unkept = where.partition.String()
	}
	w.Unmarked = w.Held && !by.marks(s.Object)
	var err error
	if w.Template, err = identity(where.template.tree(s.Object)); err != nil {
		w.Unfit = fmt.Sprintf("the pod template at %s cannot be read: %s", where.template, err)
		return nil
	}
	w.Replicas = 1 // what an absent number means for every kind
	if n, stands := where.replicas.number(s.Object); stands {
		w.Replicas = n
	}
	observed, _ := where.observed.number(s.Object)
	w.Seen = int64(observed) >= s.Object.GetGeneration()
	if w.Held {
		if s.record = recordOn(s.Object); s.record != nil {
			w.Others = s.record.Drift + w.Replicas - s.record.Asked
		}
	}
	if err := a.revisions(ctx, s); err != nil {
		return err
	}
	if err := a.children(ctx, s); err != nil {
		return err
	}
	if err := s.Kind.look(s, now); err != nil {
		w.Unfit = fmt.Sprintf("%s %s cannot be read: %s", s.Kind.ID().Kind, s.Object.GetName(), err)
		return nil
	}
	if !w.Versions {
		w.Before.Replicas = w.Replicas
		if s.record != nil {
			w.Before.Replicas = s.record.Replicas
		}
		return nil
	}
	return a.before(ctx, s)
}

// kind finds out how workloads of a kind are driven; or why they are not.
func (a *Adapters) kind(ctx context.Context, ref rolloutv1alpha1.WorkloadReference) (k Kind, unfit string, err error) {
	k, unknown := a.Registry.Of(ref)
	if unknown == nil {
		return k, "", nil
	}
	id := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	mapping, err := a.Mapper.RESTMapping(id.GroupKind(), id.Version)
	if apimeta.IsNoMatchError(err) {
		return nil, fmt.Sprintf("there is no kind %s of %s in this cluster", ref.Kind, ref.APIVersion), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("looking for the kind %s of %s: %w", ref.Kind, ref.APIVersion, err)
	}
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	name := mapping.Resource.Resource + "." + id.Group
	switch err := a.Live.Get(ctx, client.ObjectKey{Name: name}, definition); {
	case apierrors.IsNotFound(err):
		return nil, unknown.Error(), nil
	case err != nil:
		return nil, "", fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
	}
	declared := declarationOn(id, definition.GetAnnotations())
	if len(declared.Paths) == 0 {
		return nil, unknown.Error(), nil
	}
	described, err := declared.described()
	if err != nil {
		return nil, fmt.Sprintf("annotations of CustomResourceDefinition %s: %s", name, strings.ReplaceAll(err.Error(), "\n", "; ")), nil
	}
	return described, "", nil
}

// remarshal reads a value of an object into a type.
func remarshal(value, into any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
