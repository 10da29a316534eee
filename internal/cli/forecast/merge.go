// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Merge is the object as it would be after `kubectl apply` of the manifest, without the defaults of the API server. Live
// is nil for one that does not exist.
func Merge(live client.Object, m Manifest) (client.Object, error) {
	if live == nil {
		return m.Object.DeepCopyObject().(client.Object), nil
	}
	current, err := json.Marshal(live)
	if err != nil {
		return nil, fmt.Errorf("encoding the live %s: %w", m, err)
	}
	applied := []byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	raw, err := ThreeWay(applied, m.JSON, current)
	if err != nil {
		return nil, fmt.Errorf("%s over the live %s: %w", m.File, m, err)
	}
	merged := reflect.New(reflect.TypeOf(m.Object).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(raw, merged); err != nil {
		return nil, fmt.Errorf("reading the merged %s: %w", m, err)
	}
	return merged, nil
}

// ThreeWay is the live object, as JSON, after an object is applied over it: what was applied before and is not any more goes, and what
// nobody has applied stays. A list is replaced as a whole.
func ThreeWay(before, wanted, live []byte) ([]byte, error) {
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, wanted, live)
	if err != nil {
		return nil, fmt.Errorf("comparing it with what is live: %w", err)
	}
	var tree, change map[string]any
	if err := json.Unmarshal(live, &tree); err != nil {
		return nil, fmt.Errorf("reading what is live: %w", err)
	}
	if err := json.Unmarshal(patch, &change); err != nil {
		return nil, fmt.Errorf("reading the difference to what is live: %w", err)
	}
	raw, err := json.Marshal(mergePatched(tree, change))
	if err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	return raw, nil
}

// mergePatched applies a JSON merge patch: null removes, objects merge, all else replaces.
func mergePatched(tree, change map[string]any) map[string]any {
	if tree == nil {
		tree = map[string]any{}
	}
	for key, value := range change {
		switch value := value.(type) {
		case nil:
			delete(tree, key)
		case map[string]any:
			inner, _ := tree[key].(map[string]any)
			tree[key] = mergePatched(inner, value)
		default:
			tree[key] = value
		}
	}
	return tree
}
