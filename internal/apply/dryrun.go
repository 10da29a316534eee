// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DryRun asks the API server what it would store for an object, with its defaults filled in, after all of its rules
// have passed. Nothing is written. An object without a resourceVersion would be created, another one updated.
func DryRun(ctx context.Context, c client.Client, o client.Object) error {
	if o.GetResourceVersion() == "" {
		if err := c.Create(ctx, o, client.DryRunAll); err != nil {
			return fmt.Errorf("asking the API server what it would create: %w", err)
		}
		return nil
	}
	if err := c.Update(ctx, o, client.DryRunAll); err != nil {
		return fmt.Errorf("asking the API server what it would update: %w", err)
	}
	return nil
}

// DryRunApply does the same for what somebody applies as the given field manager, who takes over fields of others.
func DryRunApply(ctx context.Context, c client.Client, o *unstructured.Unstructured, manager string) error {
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, client.FieldOwner(manager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("asking the API server what it would apply: %w", err)
	}
	return nil
}
