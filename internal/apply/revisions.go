// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/step"
)

type revisionPatch struct {
	Metadata revisionPatchMeta `json:"metadata"`
	Revision *int64            `json:"revision,omitempty"`
}

type revisionPatchMeta struct {
	UID             types.UID               `json:"uid"`
	ResourceVersion string                  `json:"resourceVersion"`
	Annotations     map[string]string       `json:"annotations,omitempty"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

func (a *Applier) adoptRevision(ctx context.Context, owner types.UID, s step.AdoptRevision) error {
	return a.patchRevision(ctx, owner, s.Target, revisionPatch{Metadata: revisionPatchMeta{
		OwnerReferences: s.Owners,
	}})
}

func (a *Applier) renumberRevision(ctx context.Context, owner types.UID, s step.RenumberRevision) error {
	return a.patchRevision(ctx, owner, s.Target, revisionPatch{
		Metadata: revisionPatchMeta{Annotations: s.Annotations}, Revision: &s.Number,
	})
}

// patchRevision merges plainly, so a list in the body takes the place of the one that is there: of a strategic merge the API
// server says that it changes data, which is immutable.
func (a *Applier) patchRevision(ctx context.Context, owner types.UID, t step.Target, body revisionPatch) error {
	body.Metadata.UID, body.Metadata.ResourceVersion = t.UID, t.ResourceVersion
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding the patch of revision %s: %w", t.Name, err)
	}
	revision := revisionAt(t)
	if err := a.client.Patch(ctx, revision, client.RawPatch(types.MergePatchType, raw)); err != nil {
		a.doubt(owner, revision, err)
		return fmt.Errorf("patching revision %s: %w", t.Name, err)
	}
	a.writes.Patched(owner, revision)
	return nil
}

func revisionAt(t step.Target) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: metaAt(t)}
}
