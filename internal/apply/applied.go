// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/step"
)

// FieldManager owns the fields of what is applied on the server's side.
const FieldManager = "slipway"

// apply sends a copy: the answer overwrites what is sent. Fields that others own and that are named are taken over: who applies
// has left out those that are to stay theirs.
func (a *Applier) apply(ctx context.Context, owner types.UID, s step.Apply) error {
	object := s.Object.DeepCopy()
	configuration := client.ApplyConfigurationFromUnstructured(object)
	if err := a.client.Apply(ctx, configuration, client.FieldOwner(FieldManager), client.ForceOwnership); err != nil {
		a.doubt(owner, object, err)
		return fmt.Errorf("applying %s: %w", s.Subject(), err)
	}
	a.writes.Wrote(owner, object)
	return nil
}
