// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cli/clonesets"
	"slipway.dev/slipway/internal/cli/forecast"
)

// cluster finds the cluster that the flags name.
type cluster struct {
	env   Environment
	flags *genericclioptions.ConfigFlags
}

func (c *cluster) connect() (client.Client, string, error) {
	get := &getSets{kind: cloneSetKind(), env: c.env, flags: c.flags}
	if err := get.connect(); err != nil {
		return nil, "", fmt.Errorf("%w (--offline plans without a cluster)", err)
	}
	return get.client, get.namespace, nil
}

// foretellCloneSet plans against the live objects.
func foretellCloneSet(ctx context.Context, p *planRelease, m forecast.Manifest) (foretold, error) {
	explain := (&getSets{kind: cloneSetKind(), env: p.env, flags: p.flags, namespace: m.Key().Namespace}).explain
	var live forecast.Live
	var existing client.Object
	var warnings []string
	snapshot, err := clonesets.Kind().Read(ctx, p.reader, m.Key())
	switch {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
	case err != nil:
		return nil, explain(err)
	default:
		live = forecast.Live{Set: snapshot.Set, Pods: snapshot.Pods, Revisions: snapshot.Revisions}
		existing = snapshot.Set
		if live.Claims, err = p.claims(ctx, m.Object.(*kruisev1alpha1.CloneSet)); err != nil {
			return nil, explain(err)
		}
		if live.ResizeOff, warnings, err = p.resizeOff(); err != nil {
			return nil, explain(err)
		}
	}
	served, warning, err := p.asServed(ctx, existing, m)
	if err != nil {
		return nil, explain(err)
	}
	wanted := served.(*kruisev1alpha1.CloneSet)
	if live.Set != nil {
		wanted.Status = live.Set.Status
		if forecast.UsesNodes(wanted) {
			if live.NodeLabels, err = p.nodeLabels(ctx); err != nil {
				return nil, explain(err)
			}
		}
	}
	f, err := forecast.New(m.File, live, wanted, p.env.Clock.Now())
	if err != nil {
		return nil, err
	}
	f.Warn(slices.Concat(warnings, warning)...)
	if live.Set == nil {
		f.Warn(p.isNew())
	}
	return f, nil
}

// isNew says what a plan for an object that does not exist is worth.
func (p *planRelease) isNew() string {
	if p.offline {
		return "planned from the manifest alone: names of pods are examples"
	}
	return "the set does not exist yet: names of pods are examples"
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

// claims are those that stand beside the set. A set without claim templates has none that matter, and then the right to
// list them is not needed.
func (p *planRelease) claims(ctx context.Context, set *kruisev1alpha1.CloneSet) ([]*corev1.PersistentVolumeClaim, error) {
	if len(set.Spec.VolumeClaimTemplates) == 0 {
		return nil, nil
	}
	var list corev1.PersistentVolumeClaimList
	if err := p.reader.List(ctx, &list, client.InNamespace(set.Namespace)); err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	claims := make([]*corev1.PersistentVolumeClaim, len(list.Items))
	for i := range list.Items {
		claims[i] = &list.Items[i]
	}
	return claims, nil
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
// the right to ask it for that, and offline, the manifest is merged here, and nobody has checked it. The status is that of
// the live object, unless the server has a say in it.
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
	default:
		served.SetUID(live.GetUID())
	}
	return served, nil, nil
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
