// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch applies a JSON merge patch or, to the built-in kinds, a strategic merge patch. A resource version inside the
// patch is a precondition (Conflict), and so is a UID (Invalid, as the real server answers).
func (s *Server) Patch(actor string, kind Kind, key types.NamespacedName, sub Subresource, patchType types.PatchType, data []byte) (client.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, exists := s.objects[kind][key]
	if !exists {
		return nil, apierrors.NewNotFound(kind.resource(), key.Name)
	}
	after, err := patched(kind, touched(kind, sub, before), patchType, data)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patching %s %s: %v", kind, key, err))
	}
	return s.replace(actor, kind, sub, before, after, false)
}

// touched is the object without the part that the subresource cannot change and that replace restores: to convert that part to
// JSON and back would cost most of the time of a simulation.
func touched(kind Kind, sub Subresource, before client.Object) client.Object {
	if !divided[kind] && kind != Pods {
		return before
	}
	part := kind.empty()
	alias(part, before)
	spec, status := halves(part)
	if sub == Status {
		spec.SetZero()
	} else {
		status.SetZero()
	}
	return part
}

func patched(kind Kind, before client.Object, patchType types.PatchType, data []byte) (client.Object, error) {
	var patch map[string]any
	if err := utiljson.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("decoding the patch: %w", err)
	}
	original, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		return nil, fmt.Errorf("encoding the object: %w", err)
	}
	var merged map[string]any
	switch patchType {
	case types.MergePatchType:
		merged = mergeJSON(original, patch)
	case types.StrategicMergePatchType:
		if kind != Pods {
			return nil, fmt.Errorf("strategic merge patch is not supported for %s", kind)
		}
		if merged, err = strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(original, patch, podPatchMeta()); err != nil {
			return nil, fmt.Errorf("merging: %w", err)
		}
	default:
		return nil, fmt.Errorf("patch type %s is not supported", patchType)
	}
	after := kind.empty()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(merged, after); err != nil {
		return nil, fmt.Errorf("decoding the result: %w", err)
	}
	return after, nil
}

var podPatchMeta = sync.OnceValue(func() strategicpatch.PatchMetaFromStruct {
	meta, err := strategicpatch.NewPatchMetaFromStruct(corev1.Pod{})
	if err != nil {
		panic(fmt.Sprintf("the pod type has no patch metadata: %v", err))
	}
	return meta
})

// mergeJSON is RFC 7386: null removes, objects merge, everything else replaces.
func mergeJSON(target, patch map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for k, v := range patch {
		switch value := v.(type) {
		case nil:
			delete(target, k)
		case map[string]any:
			inner, _ := target[k].(map[string]any)
			target[k] = mergeJSON(inner, value)
		default:
			target[k] = value
		}
	}
	return target
}
