// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/step"
)

// createSet creates a copy: the answer overwrites what it is decoded into.
func (a *Applier) createSet(ctx context.Context, owner types.UID, s step.CreateSet) error {
	return a.create(ctx, owner, "pod set", copyOf(s.Set))
}

// changeSet sends what differs. The version that was looked at goes with it, so a set that others have changed is left
// alone; what our types do not know of it is in neither object and stays as it is.
func (a *Applier) changeSet(ctx context.Context, owner types.UID, s step.ChangeSet) error {
	before, after := copyOf(s.Before), copyOf(s.After)
	exactly := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.client.Patch(ctx, after, exactly); err != nil {
		a.doubt(owner, before, err)
		return fmt.Errorf("patching pod set %s: %w", before.GetName(), err)
	}
	a.writes.Patched(owner, after)
	return nil
}

func (a *Applier) deleteSet(ctx context.Context, owner types.UID, s step.DeleteSet) error {
	return a.delete(ctx, owner, "pod set", at(s.Set, s.Target), s.Target)
}

type annotationPatch struct {
	Metadata annotationPatchMeta `json:"metadata"`
}

type annotationPatchMeta struct {
	versionPatch
	Annotations map[string]*string `json:"annotations"`
}

func (a *Applier) annotate(ctx context.Context, owner types.UID, s step.Annotate) error {
	body := annotationPatch{Metadata: annotationPatchMeta{versionPatch{UID: s.UID, ResourceVersion: s.ResourceVersion}, s.Annotations}}
	return a.mergePatch(ctx, owner, "the annotations of", at(s.Object, s.Target), body)
}

type finalizerPatch struct {
	Metadata finalizerPatchMeta `json:"metadata"`
}

type finalizerPatchMeta struct {
	versionPatch
	Finalizers []string `json:"finalizers"`
}

func (a *Applier) setFinalizers(ctx context.Context, owner types.UID, s step.SetFinalizers) error {
	body := finalizerPatch{Metadata: finalizerPatchMeta{versionPatch{UID: s.UID, ResourceVersion: s.ResourceVersion}, s.Finalizers}}
	return a.mergePatch(ctx, owner, "the finalizers of", at(s.Object, s.Target), body)
}

func copyOf(o step.Object) client.Object {
	return o.DeepCopyObject().(client.Object)
}

// at is an empty object of a kind, at the version of the target.
func at(kind step.Object, t step.Target) client.Object {
	object := freshness.EmptyLike(kind)
	object.SetNamespace(t.Namespace)
	object.SetName(t.Name)
	object.SetUID(t.UID)
	object.SetResourceVersion(t.ResourceVersion)
	return object
}
