// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Edit writes what a person has changed between two states of an object, on the condition that it is still the version of
// before: else they would have decided on something that is no longer so. As a dry run the API server checks it all and
// stores nothing.
func Edit(ctx context.Context, c client.Client, before, after client.Object, dryRun bool) error {
	var options []client.PatchOption
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, after, patch, options...); err != nil {
		return fmt.Errorf("changing %s: %w", before.GetName(), err)
	}
	return nil
}

// Make writes an object that a person asks for. There must be none of its name.
func Make(ctx context.Context, c client.Client, o client.Object) error {
	if err := c.Create(ctx, o); err != nil {
		return fmt.Errorf("creating %s: %w", o.GetName(), err)
	}
	return nil
}
