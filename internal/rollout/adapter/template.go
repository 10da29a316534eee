// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// identity identifies a pod template: it is the same for all that mean the same pods.
func identity(template map[string]any) (string, error) {
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		return "", fmt.Errorf("encoding the pod template: %w", err)
	}
	// Read as a revision is read, so that a template and its revision have one identity, unknown fields and all.
	return identityOf(revision.Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: raw}}))
}

func identityOf(r revision.Revision) (string, error) {
	if r.Err != nil {
		return "", r.Err
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(r.Canonical)) // hash writers never fail
	return fmt.Sprintf("%016x", sum.Sum64()), nil
}

// templateIn is the template that a revision holds, as it was written.
func templateIn(object *appsv1.ControllerRevision) (map[string]any, error) {
	data := struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}{}
	if err := kjson.Unmarshal(object.Data.Raw, &data); err != nil || data.Spec.Template == nil {
		return nil, fmt.Errorf("revision %s holds no pod template that can be read", object.Name)
	}
	delete(data.Spec.Template, "$patch")
	dropNulls(data.Spec.Template) // a patch would take one for a deletion
	return data.Spec.Template, nil
}

func dropNulls(node any) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if value == nil {
				delete(node, key)
			}
			dropNulls(value)
		}
	case []any:
		for _, value := range node {
			dropNulls(value)
		}
	}
}

// revision reads one of the workload's revisions. It returns nil when there is none of that name, or one of somebody else.
func (a *Adapters) revision(ctx context.Context, s *Seen, name string) (*appsv1.ControllerRevision, error) {
	if name == "" {
		return nil, nil
	}
	object := &appsv1.ControllerRevision{}
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: s.Object.GetNamespace(), Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading revision %s: %w", name, err)
	case !pod.IsControlledBy(object, s.Object.GetUID()):
		return nil, nil
	}
	return object, nil
}

// revisions finds out which revision the template is of, and whether the status counts the pods of that one: it may be about a
// template from before.
func (a *Adapters) revisions(ctx context.Context, s *Seen) error {
	where, w := s.Kind.places(), &s.Workload
	s.current, s.newest = where.current.text(s.Object), where.update.text(s.Object)
	switch {
	case w.Seen:
		s.counted = true
		return nil
	case len(where.update) == 0:
		s.counted = w.Held // a newer template ends the rollout, whatever is counted
		return nil
	case s.record != nil && s.record.Template == w.Template:
		s.counted = s.newest == s.record.Revision
		s.newest = s.record.Revision
		return nil
	}
	object, err := a.revision(ctx, s, s.newest)
	if err != nil {
		return err
	}
	if object != nil {
		id, err := identityOf(revision.Decode(object))
		s.counted = err == nil && id == w.Template
	}
	if !s.counted {
		s.newest = ""
	}
	return nil
}

// before finds out what stood in the workload when it was claimed; what stands there now, when it is not.
func (a *Adapters) before(ctx context.Context, s *Seen) error {
	before := &s.Workload.Before
	if s.record == nil {
		before.Replicas = s.Workload.Replicas
		if s.Workload.Held {
			before.Why = "nobody knows what stood in it before: its record is gone"
			return nil
		}
		object, err := a.revision(ctx, s, s.current)
		if err != nil || object == nil {
			return err
		}
		if s.older, err = identityOf(revision.Decode(object)); err != nil {
			s.older = "" // it cannot be brought back
		}
		return nil
	}
	before.Replicas, before.Template, before.Back = s.record.Replicas, s.record.Template, s.record.Back
	switch {
	case s.record.Template == "":
		before.Why = "its template from before is not known"
		return nil
	case !s.ask.Before:
		before.Why = "its template from before was not looked up"
		return nil
	}
	object, err := a.revision(ctx, s, s.record.Revision)
	if err != nil {
		return err
	}
	if object == nil {
		before.Why = fmt.Sprintf("its template from before cannot be brought back: revision %s is gone", s.record.Revision)
		return nil
	}
	template, err := templateIn(object)
	if err != nil {
		before.Why = fmt.Sprintf("its template from before cannot be brought back: %s", err)
		return nil
	}
	before.Known, s.former = true, template
	return nil
}
