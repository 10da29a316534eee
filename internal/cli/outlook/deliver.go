// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cli/forecast"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// bring takes the steps that come before a rollout or after its end, and tells of them. It returns whether there were any: the
// controller decides nothing before it has looked again then.
func (p *play) bring(ctx context.Context) (bool, error) {
	steps, err := p.subject.Steps(ctx, &p.world)
	if err != nil || len(steps) == 0 {
		return false, err //nolint:wrapcheck // it says what was read
	}
	var actions []story.Action
	for _, s := range steps {
		a := story.Action{Object: s.Subject(), Why: s.Why()}
		switch s := s.(type) {
		case step.Apply:
			a.Verb = story.Apply
			err = p.apply(ctx, s.Object)
		case step.DeleteSet:
			a.Object, a.Verb = s.Set.GetObjectKind().GroupVersionKind().Kind+" "+s.Name, story.TakeAway
			err = p.takeAway(ctx, s.Set)
		default:
			err = fmt.Errorf("%T is no step before a rollout or after one", s)
		}
		if err != nil {
			return false, err
		}
		actions = append(actions, a)
	}
	now := p.count()
	p.happen([]story.Moment{{Actions: actions, During: now, After: now}}, story.Count{})
	p.brought = true
	return true, nil
}

// takeAway does what the API server does with the deletion of an object, and the garbage collector with its pods.
func (p *play) takeAway(ctx context.Context, o client.Object) error {
	w, err := p.workload(ctx, o.GetObjectKind().GroupVersionKind(), client.ObjectKeyFromObject(o))
	if err != nil || w.object == nil {
		return err
	}
	p.setPods(w.object, nil)
	w.object = nil
	return nil
}

// apply does what the API server does with an object that is applied. Its defaults are left out.
func (p *play) apply(ctx context.Context, o *unstructured.Unstructured) error {
	w, err := p.workload(ctx, o.GroupVersionKind(), client.ObjectKeyFromObject(o))
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if w.object == nil {
		w.object = o.DeepCopy()
		w.object.SetUID(plannedUID(o.GroupVersionKind(), o.GetName()))
		w.object.SetGeneration(1)
		w.version++
		return nil
	}
	before, err := p.lastApplied(ctx, w.object)
	if err != nil {
		return err
	}
	after, err := merged(before, o, w.object)
	if err != nil {
		return fmt.Errorf("foretelling what becomes of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	p.replace(w, after)
	return nil
}

// lastApplied is what was applied of a live object, as far as it is known: what was rendered of it in the revision that it says that
// it is of. Whatever else stands in it stays.
func (p *play) lastApplied(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	nothing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": live.GetAPIVersion(), "kind": live.GetKind()}}
	labels, of := live.GetLabels(), &oamv1beta1.ApplicationRevision{}
	if labels[oamv1beta1.LabelAppRevision] == "" {
		return nothing, nil
	}
	switch err := p.Get(ctx, client.ObjectKey{Namespace: live.GetNamespace(), Name: labels[oamv1beta1.LabelAppRevision]}, of); {
	case apierrors.IsNotFound(err):
		return nothing, nil
	case err != nil:
		return nil, fmt.Errorf("reading ApplicationRevision %s: %w", labels[oamv1beta1.LabelAppRevision], err)
	}
	component, has, err := delivery.Find(of, labels[oamv1beta1.LabelComponent])
	if err != nil || !has {
		return nothing, nil //nolint:nilerr // what nobody can read tells nothing
	}
	for _, extra := range component.Extras {
		if delivery.KeyOf(extra) == delivery.KeyOf(live) {
			return extra, nil
		}
	}
	if component.Workload.GroupVersionKind().GroupKind() != live.GroupVersionKind().GroupKind() {
		return nothing, nil
	}
	seen, err := p.adapters.ObserveObject(ctx, live.DeepCopy(), p.holder(), adapter.Ask{Looks: true}, p.now)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the workload
	}
	return seen.Deliver(component.Workload, false, apply.FieldManager), nil // its size and what holds back its pods are left out in the same way
}

// merged is a live object after an object is applied over it: what was applied before and is not any more goes, and the rest stays.
// The server knows the elements of lists by their keys for kinds of Kubernetes itself. For all others a list is replaced as a whole,
// since their CustomResourceDefinitions say nothing of keys. A list that goes as a whole goes with what others have put into it.
func merged(before, wanted, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var raw [3][]byte
	for i, o := range []*unstructured.Unstructured{before, wanted, live} {
		var err error
		if raw[i], err = json.Marshal(o); err != nil {
			return nil, fmt.Errorf("encoding it: %w", err)
		}
	}
	merge := forecast.ThreeWay
	if scheme.Scheme.Recognizes(live.GroupVersionKind()) {
		merge = byKey(live.GroupVersionKind())
	}
	changed, err := merge(raw[0], raw[1], raw[2])
	if err != nil {
		return nil, err
	}
	after := &unstructured.Unstructured{}
	if err := after.UnmarshalJSON(changed); err != nil {
		return nil, fmt.Errorf("reading the result: %w", err)
	}
	return after, nil
}

// byKey merges objects of a kind of Kubernetes itself.
func byKey(id schema.GroupVersionKind) func(before, wanted, live []byte) ([]byte, error) {
	return func(before, wanted, live []byte) ([]byte, error) {
		typed, err := scheme.Scheme.New(id)
		if err != nil {
			return nil, fmt.Errorf("looking for its type: %w", err)
		}
		fields, err := strategicpatch.NewPatchMetaFromStruct(typed)
		if err != nil {
			return nil, fmt.Errorf("reading its type: %w", err)
		}
		patch, err := strategicpatch.CreateThreeWayMergePatch(before, wanted, live, fields, true)
		if err != nil {
			return nil, fmt.Errorf("comparing it with what is live: %w", err)
		}
		return strategicpatch.StrategicMergePatchUsingLookupPatchMeta(live, patch, fields)
	}
}
