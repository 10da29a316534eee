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

// rolloutToPlan is a kind of rollouts that can be planned.
type rolloutToPlan struct {
	shownKind
	empty func() client.Object
	lint  func(client.Object) []lint.Finding
	// status of an object is a part of it.
	status func(client.Object) *rolloutv1alpha1.RolloutStatus
	// objects are those that a rollout is about, as far as it is known which they are, and warnings what people should know of them.
	objects func(ctx context.Context, p *planRelease, o client.Object) (all []*unstructured.Unstructured, warnings []string, err error)
	// needs are the rights that a plan needs; empty for those to the kind itself.
	needs string
}

func traitToPlan() rolloutToPlan {
	return rolloutToPlan{
		shownKind: traitKind(),
		empty:     func() client.Object { return &rolloutv1alpha1.RolloutTrait{} },
		lint:      func(o client.Object) []lint.Finding { return lint.Rollout(o.(*rolloutv1alpha1.RolloutTrait), nil) },
		status:    func(o client.Object) *rolloutv1alpha1.RolloutStatus { return &o.(*rolloutv1alpha1.RolloutTrait).Status },
		objects: func(_ context.Context, _ *planRelease, o client.Object) ([]*unstructured.Unstructured, []string, error) {
			target := o.(*rolloutv1alpha1.RolloutTrait).Spec.TargetRef
			workload := &unstructured.Unstructured{}
			workload.SetGroupVersionKind(schema.FromAPIVersionAndKind(target.APIVersion, target.Kind))
			return []*unstructured.Unstructured{workload}, nil, nil
		},
	}
}

// foretellRollout plans a rollout of a kind against the live workloads, as they are once everything in the files of the call is applied.
func foretellRollout(k rolloutToPlan) foreteller {
	return func(ctx context.Context, p *planRelease, m forecast.Manifest) (foretold, error) {
		o, err := p.rollout(ctx, k, m)
		switch {
		case apierrors.IsForbidden(err) && k.needs != "":
			return nil, fmt.Errorf("%w\n%s needs %s", err, p.env.Program, k.needs)
		case err != nil:
			return nil, (&getSets{kind: k.shownKind, env: p.env, flags: p.flags, namespace: m.Key().Namespace}).explain(err)
		}
		return o, nil
	}
}

func (p *planRelease) rollout(ctx context.Context, k rolloutToPlan, m forecast.Manifest) (*outlook.Outlook, error) {
	in := outlook.Input{Live: p.reader, NodeLabels: map[string]map[string]string{}}
	before := k.empty()
	switch err := p.reader.Get(ctx, m.Key(), before); {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
	case err != nil:
		return nil, err
	default:
		in.Before = before
	}
	if found := k.lint(m.Object); len(found) > 0 {
		return nil, fmt.Errorf("the API would refuse it: %s", strings.Join(texts(found), "; "))
	}
	served, warnings, err := p.asServed(ctx, in.Before, m)
	if err != nil {
		return nil, err
	}
	in.Rollout = served
	k.status(before).DeepCopyInto(k.status(in.Rollout))
	about, ofAbout, err := k.objects(ctx, p, in.Rollout)
	if err != nil {
		return nil, err
	}
	beside := &beside{plan: p, nodeLabels: in.NodeLabels}
	in.Wanted = beside.wanted
	if in.Mapper, err = p.kindsFor(ctx, about); err != nil {
		return nil, err
	}
	var ofResize []string
	if slices.ContainsFunc(about, usesResize) {
		if in.ResizeOff, ofResize, err = p.resizeOff(); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(about, spreads) {
		if err := beside.readNodes(ctx); err != nil {
			return nil, err
		}
	}
	now := p.env.Clock.Now()
	if p.offline {
		now = savedAt(k.status(in.Rollout), now)
	}
	o, err := outlook.Of(ctx, in, now)
	if err != nil {
		return nil, err
	}
	o.File = m.File
	o.Warn(slices.Concat(warnings, ofAbout, ofResize, beside.warnings)...)
	return o, nil
}

// usesResize tells of a workload whether it matters if the server can resize living pods.
func usesResize(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(forecast.Kinds(), func(k forecast.Kind) bool { return k.GVK == o.GroupVersionKind() && k.UsesResize })
}

// spreads tells of a workload whether labels of nodes matter to it.
func spreads(o *unstructured.Unstructured) bool {
	if o == nil || o.GroupVersionKind() != kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind) {
		return false
	}
	constraints, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "topologySpreadConstraints")
	return len(constraints) > 0
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
	if err != nil || !spreads(wanted) {
		return wanted, err
	}
	return wanted, b.readNodes(ctx)
}

func (b *beside) readNodes(ctx context.Context) error {
	labels, err := b.plan.nodeLabels(ctx)
	maps.Copy(b.nodeLabels, labels)
	return err
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

// kindsFor tells how the kinds of what a rollout is about are called. Those that are not known here are looked up among the
// CustomResourceDefinitions.
func (p *planRelease) kindsFor(ctx context.Context, about []*unstructured.Unstructured) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	if !p.offline {
		own, ours := p.client.RESTMapper().(*meta.DefaultRESTMapper)
		if !ours { // it finds out by itself
			return p.client.RESTMapper(), nil
		}
		mapper = own
	}
	for _, o := range about {
		id := o.GroupVersionKind()
		_, known := knownWorkload(rolloutv1alpha1.WorkloadReference{APIVersion: id.GroupVersion().String(), Kind: id.Kind})
		if _, err := mapper.RESTMapping(id.GroupKind(), id.Version); known || err == nil {
			continue
		}
		if ofKubernetes(id.Group) { // it is called as one would guess
			mapper.Add(id, meta.RESTScopeNamespace)
			continue
		}
		if err := p.lookUp(ctx, id, mapper); err != nil {
			return nil, fmt.Errorf("looking for the kind %s of %s: %w", id.Kind, id.GroupVersion(), err)
		}
	}
	return mapper, nil
}

// ofKubernetes tells whether a group is one that no CustomResourceDefinition adds kinds to.
func ofKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// lookUp tells a mapper of a kind, if a CustomResourceDefinition is of that.
func (p *planRelease) lookUp(ctx context.Context, id schema.GroupVersionKind, mapper *meta.DefaultRESTMapper) error {
	definitions := &unstructured.UnstructuredList{}
	definitions.SetGroupVersionKind(definitionKind.GroupVersion().WithKind(definitionKind.Kind + "List"))
	if err := p.reader.List(ctx, definitions); err != nil {
		return err
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
	return nil
}
