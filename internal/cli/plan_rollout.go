// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/forecast"
	"slipway.dev/slipway/internal/cli/lint"
	"slipway.dev/slipway/internal/cli/outlook"
	"slipway.dev/slipway/internal/cli/saved"
)

// foretellRollout plans a rollout against the live workloads, as they are once everything in the files of the call is applied.
func foretellRollout(ctx context.Context, p *planRelease, m forecast.Manifest) (foretold, error) {
	explain := (&getSets{kind: rolloutKind(), env: p.env, flags: p.flags, namespace: m.Key().Namespace}).explain
	in := outlook.Input{Live: p.reader, NodeLabels: map[string]map[string]string{}}
	var existing client.Object
	before := &rolloutv1alpha1.RolloutTrait{}
	switch err := p.reader.Get(ctx, m.Key(), before); {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
	case err != nil:
		return nil, explain(err)
	default:
		existing, in.Before = before, before
	}
	if found := lint.Rollout(m.Object.(*rolloutv1alpha1.RolloutTrait), nil); len(found) > 0 {
		return nil, fmt.Errorf("the API would refuse it: %s", strings.Join(texts(found), "; "))
	}
	served, warnings, err := p.asServed(ctx, existing, m)
	if err != nil {
		return nil, explain(err)
	}
	in.Rollout = served.(*rolloutv1alpha1.RolloutTrait)
	in.Rollout.Status = rolloutv1alpha1.RolloutStatus{}
	if in.Before != nil {
		in.Rollout.Status = *in.Before.Status.DeepCopy()
	}
	beside := &beside{plan: p, nodeLabels: in.NodeLabels}
	if in.Mapper, err = p.kindsFor(ctx, &in.Rollout.Spec); err != nil {
		return nil, explain(err)
	}
	in.Wanted = beside.wanted
	var ofResize []string
	target := schema.FromAPIVersionAndKind(in.Rollout.Spec.TargetRef.APIVersion, in.Rollout.Spec.TargetRef.Kind)
	if slices.ContainsFunc(forecast.Kinds(), func(k forecast.Kind) bool { return k.GVK == target && k.UsesResize }) {
		if in.ResizeOff, ofResize, err = p.resizeOff(); err != nil {
			return nil, explain(err)
		}
	}
	now := p.env.Clock.Now()
	if p.offline {
		now = savedAt(&in.Rollout.Status, now)
	}
	o, err := outlook.Of(ctx, in, now)
	if err != nil {
		return nil, explain(err)
	}
	o.File = m.File
	o.Warn(slices.Concat(warnings, ofResize, beside.warnings)...)
	return o, nil
}

// savedAt is when a rollout that is on its way was saved, as far as it tells: its deadline counts from then.
func savedAt(s *rolloutv1alpha1.RolloutStatus, now time.Time) time.Time {
	if s.LastProgressTime == nil || s.RollingState.IsFinal() {
		return now
	}
	return s.LastProgressTime.Add(time.Second)
}

// beside are the workloads in the files of a call: a rollout is planned as they will be.
type beside struct {
	plan       *planRelease
	files      []*saved.Objects
	nodeLabels map[string]map[string]string
	warnings   []string
}

// wanted is a workload as the files have it.
func (b *beside) wanted(ctx context.Context, id schema.GroupVersionKind, key client.ObjectKey, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	wanted, err := b.applied(ctx, id, key, live)
	if err != nil || wanted == nil || id != kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind) {
		return wanted, err
	}
	spread, _, _ := unstructured.NestedSlice(wanted.Object, "spec", "template", "spec", "topologySpreadConstraints")
	if len(spread) == 0 {
		return wanted, nil
	}
	labels, err := b.plan.nodeLabels(ctx)
	maps.Copy(b.nodeLabels, labels)
	return wanted, err
}

func (b *beside) applied(ctx context.Context, id schema.GroupVersionKind, key client.ObjectKey, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	m, err := b.find(ctx, id, key)
	if err != nil || m == nil {
		return live, err
	}
	var existing client.Object
	if live != nil {
		existing = live
	}
	var made client.Object
	var warnings []string
	if b.plan.scheme.Recognizes(id) {
		made, warnings, err = b.plan.asServed(ctx, existing, *m)
	} else {
		made, err = forecast.Merge(existing, *m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", m.File, m, err)
	}
	b.warnings = append(b.warnings, warnings...)
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made)
	if err != nil {
		return nil, fmt.Errorf("reading what the API server would store of %s: %w", m, err)
	}
	wanted := &unstructured.Unstructured{Object: tree}
	wanted.SetGroupVersionKind(id)
	if live != nil {
		wanted.Object["status"] = live.Object["status"]
	}
	return wanted, nil
}

// find reads a workload from the files; nil when none has it.
func (b *beside) find(ctx context.Context, id schema.GroupVersionKind, key client.ObjectKey) (*forecast.Manifest, error) {
	if b.files == nil {
		for _, file := range b.plan.files {
			err := b.plan.open(file, func(r io.Reader) error {
				objects, err := saved.Read(file, r, b.plan.scheme)
				b.files = append(b.files, objects)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	keys := []client.ObjectKey{key}
	if key.Namespace == b.plan.namespace {
		keys = append(keys, client.ObjectKey{Name: key.Name})
	}
	for i, objects := range b.files {
		for _, at := range keys {
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(id)
			if err := objects.Get(ctx, at, o); err != nil {
				continue // there is none of that name in this file
			}
			o.SetNamespace(key.Namespace)
			unstructured.RemoveNestedField(o.Object, "status")
			raw, err := json.Marshal(o)
			if err != nil {
				return nil, fmt.Errorf("reading %s %s: %w", id.Kind, key, err)
			}
			return &forecast.Manifest{File: b.plan.files[i], ID: id, Object: o, JSON: raw}, nil
		}
	}
	return nil, nil
}

// kindsFor tells how the kinds of a rollout's workloads are called. Those that are not known here are looked up among the
// CustomResourceDefinitions.
func (p *planRelease) kindsFor(ctx context.Context, spec *rolloutv1alpha1.RolloutTraitSpec) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	if !p.offline {
		own, ours := p.client.RESTMapper().(*meta.DefaultRESTMapper)
		if !ours { // it finds out by itself
			return p.client.RESTMapper(), nil
		}
		mapper = own
	}
	if _, known := knownWorkload(spec.TargetRef); known {
		return mapper, nil
	}
	id := schema.FromAPIVersionAndKind(spec.TargetRef.APIVersion, spec.TargetRef.Kind)
	definitions := &unstructured.UnstructuredList{}
	definitions.SetGroupVersionKind(definitionKind.GroupVersion().WithKind(definitionKind.Kind + "List"))
	if err := p.reader.List(ctx, definitions); err != nil {
		return nil, fmt.Errorf("looking for the kind %s of %s: %w", id.Kind, spec.TargetRef.APIVersion, err)
	}
	for i := range definitions.Items {
		text := func(path ...string) string {
			value, _, _ := unstructured.NestedString(definitions.Items[i].Object, append([]string{"spec"}, path...)...)
			return value
		}
		if text("group") == id.Group && text("names", "kind") == id.Kind {
			mapper.AddSpecific(id, id.GroupVersion().WithResource(text("names", "plural")), id.GroupVersion().WithResource(text("names", "singular")), meta.RESTScopeNamespace)
		}
	}
	return mapper, nil
}
