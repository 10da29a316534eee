// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Status writes the status of an object, on the condition that it is still the version of before. All of
// the status is sent, not only what differs: the schema requires members that a stored status may lack.
func (a *Applier) Status(ctx context.Context, before, after client.Object) error {
	patch, err := statusPatch(before, after)
	if err != nil {
		return fmt.Errorf("encoding the status of %s: %w", before.GetName(), err)
	}
	if err := a.client.Status().Patch(ctx, after, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("writing the status of %s: %w", before.GetName(), err)
	}
	a.writes.Patched(after.GetUID(), after)
	return nil
}

func statusPatch(before, after client.Object) ([]byte, error) {
	old, errBefore := statusOf(before)
	status, errAfter := statusOf(after)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return nil, err
	}
	removeMissing(old, status)
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": before.GetUID(), "resourceVersion": before.GetResourceVersion()},
		"status":   status,
	})
}

// removeMissing has a merge patch remove what is not there any more, at any depth: it does so with what is null.
func removeMissing(old, status map[string]any) {
	for member, was := range old {
		is, kept := status[member]
		if !kept {
			status[member] = nil
			continue
		}
		before, wasMap := was.(map[string]any)
		if after, isMap := is.(map[string]any); wasMap && isMap {
			removeMissing(before, after)
		}
	}
}

// statusOf is the status of an object by its members. The rest of the object, mostly its template, is several times as large,
// and is not looked at.
func statusOf(object client.Object) (map[string]any, error) {
	status := reflect.Indirect(reflect.ValueOf(object)).FieldByName("Status")
	if !status.IsValid() {
		return nil, fmt.Errorf("%T has no status", object)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(status.Addr().Interface())
}
