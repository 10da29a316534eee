// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cli/forecast"
)

// cluster finds the cluster that the flags name.
func (p *planRelease) cluster() (namespace string, err error) {
	get := &getSets{kind: cloneSetKind(), env: p.env, flags: p.flags}
	if err := get.connect(); err != nil {
		return "", fmt.Errorf("%w (--offline plans without a cluster)", err)
	}
	p.client, p.reader = get.client, get.client
	p.offersResize = sync.OnceValues(func() (bool, error) { return p.env.OffersResize(p.flags, userAgent(p.env)) })
	return get.namespace, nil
}

// again is how often a plan is made anew for an object that changes meanwhile.
const again = 5

// foretellSets plans workloads of a kind against the live objects.
func foretellSets(k forecast.Kind) foreteller {
	return func(ctx context.Context, p *planRelease, m forecast.Manifest) (foretold, error) {
		f, err := p.foretell(ctx, k, m)
		for range again {
			if !apierrors.IsConflict(err) {
				break
			}
			f, err = p.foretell(ctx, k, m) // somebody has changed the object since it was read, mostly its controller the status
		}
		if err != nil {
			return nil, p.explain(k, m, err)
		}
		return f, nil
	}
}

func (p *planRelease) foretell(ctx context.Context, k forecast.Kind, m forecast.Manifest) (*forecast.Forecast, error) {
	live, warnings, err := p.look(ctx, k, m)
	if err != nil {
		return nil, err
	}
	wanted, unchecked, err := p.asServed(ctx, live.Object, m)
	if err != nil {
		return nil, err
	}
	if (live.Object != nil || k.NodesOfNew) && k.UsesNodes != nil && k.UsesNodes(wanted) {
		if live.NodeLabels, err = p.nodeLabels(ctx); err != nil {
			return nil, err
		}
	}
	f, err := forecast.New(m.File, k, live, wanted, p.env.Clock.Now())
	if err != nil {
		return nil, err
	}
	f.Warn(slices.Concat(warnings, unchecked)...)
	switch {
	case live.Object != nil:
	case p.offline:
		f.Warn("planned from the manifest alone: names of pods are examples")
	default:
		f.Warn("the set does not exist yet: names of pods are examples")
	}
	return f, nil
}

// explain tells what to do about an error of the cluster.
func (p *planRelease) explain(k forecast.Kind, m forecast.Manifest, err error) error {
	for _, known := range workloadKinds() {
		if known.id == k.GVK {
			get := &getSets{kind: known.shown(), env: p.env, flags: p.flags, namespace: m.Key().Namespace}
			return get.explain(err)
		}
	}
	return err
}

// look reads the object and what belongs to it. An object that does not exist is no error.
func (p *planRelease) look(ctx context.Context, k forecast.Kind, m forecast.Manifest) (live forecast.Live, warnings []string, err error) {
	made, err := p.scheme.New(k.GVK)
	if err != nil {
		return live, nil, err
	}
	existing := made.(client.Object) // the scheme holds nothing else
	err = p.reader.Get(ctx, m.Key(), existing)
	switch {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return live, nil, nil
	case err != nil:
		return live, nil, err
	}
	live.Object = existing
	if err := p.beside(ctx, k, existing, &live); err != nil {
		return live, nil, err
	}
	if k.UsesClaims != nil && (k.UsesClaims(existing) || k.UsesClaims(m.Object)) {
		if live.Claims, err = listed[*corev1.PersistentVolumeClaim](ctx, p.reader, &corev1.PersistentVolumeClaimList{}, client.InNamespace(existing.GetNamespace())); err != nil {
			return live, nil, fmt.Errorf("listing claims: %w", err)
		}
	}
	if k.UsesResize {
		live.ResizeOff, warnings, err = p.resizeOff()
	}
	return live, warnings, err
}

// beside reads pods, revisions, and what else the kind asks for.
func (p *planRelease) beside(ctx context.Context, k forecast.Kind, existing client.Object, live *forecast.Live) error {
	selector, err := metav1.LabelSelectorAsSelector(k.Selector(existing))
	if err != nil {
		return fmt.Errorf("spec.selector: %w", err)
	}
	here, mine := client.InNamespace(existing.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}
	if live.Pods, err = listed[*corev1.Pod](ctx, p.reader, &corev1.PodList{}, here, mine); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	if live.Revisions, err = listed[*appsv1.ControllerRevision](ctx, p.reader, &appsv1.ControllerRevisionList{}, here, mine); err != nil {
		return fmt.Errorf("listing revisions: %w", err)
	}
	if k.Beside == nil {
		return nil
	}
	for _, list := range k.Beside(existing) {
		found, err := listed[client.Object](ctx, p.reader, list, here)
		if err != nil {
			return fmt.Errorf("listing what belongs to it: %w", err)
		}
		live.Beside = append(live.Beside, found...)
	}
	return nil
}

// listed are the items of a list that is read.
func listed[T client.Object](ctx context.Context, c client.Reader, list client.ObjectList, options ...client.ListOption) ([]T, error) {
	if err := c.List(ctx, list, options...); err != nil {
		return nil, err
	}
	var items []T
	err := apimeta.EachListItem(list, func(o runtime.Object) error {
		items = append(items, o.(T)) // a list holds what it says
		return nil
	})
	return items, err
}

// resizeOff tells that the server cannot change the resources of living pods. Who may not ask gets the plan for one
// that can, as every server of today, and a warning.
func (p *planRelease) resizeOff() (off bool, warnings []string, err error) {
	if p.offline {
		return p.noResize, nil, nil
	}
	resize, err := p.offersResize()
	if apierrors.IsForbidden(err) {
		return false, []string{"these credentials may not ask whether the server can resize living pods: planned as if it could"}, nil
	}
	return !resize, nil, err
}

// nodeLabels are those of all nodes, by name. Without the right to list nodes there are none, and the forecast warns.
func (p *planRelease) nodeLabels(ctx context.Context) (map[string]map[string]string, error) {
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
	err := p.reader.List(ctx, &list)
	switch {
	case apierrors.IsForbidden(err), p.offline && len(list.Items) == 0:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	found := make(map[string]map[string]string, len(list.Items))
	for i := range list.Items {
		found[list.Items[i].Name] = list.Items[i].Labels
	}
	return found, nil
}

// asServed is the object as the API server would store it after `kubectl apply`; live is nil when there is none yet. Without
// the right to ask it for that, and offline, the manifest is merged here, and nobody has checked it.
func (p *planRelease) asServed(ctx context.Context, live client.Object, m forecast.Manifest) (wanted client.Object, warnings []string, err error) {
	if wanted, err = forecast.Merge(live, m); err != nil || p.offline {
		return wanted, nil, err
	}
	served := wanted.DeepCopyObject().(client.Object)
	if manager := applier(live); manager != "" {
		served, err = p.appliedBy(ctx, m, manager)
	} else {
		err = apply.DryRun(ctx, p.client, served)
	}
	switch {
	case apierrors.IsForbidden(err):
		return wanted, []string{"the API server was not asked what it would store, since these credentials may not: the manifest is not checked"}, nil
	case err != nil:
		return nil, nil, err
	case live == nil:
		served.SetUID("") // another one each time
		return served, nil, nil
	}
	served.SetUID(live.GetUID())
	return served, nil, withStatusOf(live, served)
}

// applier is who applies the object by server-side apply; empty when nobody does, or kubectl does it in the older way.
func applier(live client.Object) string {
	if live == nil || live.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "" {
		return ""
	}
	for _, entry := range live.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			return entry.Manager
		}
	}
	return ""
}

func (p *planRelease) appliedBy(ctx context.Context, m forecast.Manifest, manager string) (client.Object, error) {
	var written unstructured.Unstructured
	if err := json.Unmarshal(m.JSON, &written.Object); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	if err := apply.DryRunApply(ctx, p.client, &written, manager); err != nil {
		return nil, err
	}
	made, err := p.scheme.New(m.ID)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(written.Object, made); err != nil {
		return nil, fmt.Errorf("reading what the API server would store: %w", err)
	}
	return made.(client.Object), nil
}

// withStatusOf gives an object the status of another: a dry run says nothing of it that counts.
func withStatusOf(live, o client.Object) error {
	from, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return fmt.Errorf("reading the live status: %w", err)
	}
	into, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return fmt.Errorf("reading what the API server would store: %w", err)
	}
	into["status"] = from["status"]
	return runtime.DefaultUnstructuredConverter.FromUnstructured(into, o)
}
