// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	podrevision "slipway.dev/slipway/internal/revision"
)

// TemplateHash returns the hash of what a workload makes pods from: 16 hexadecimal digits, the same for what means the same.
// That is its kind and selector, and its pod template. Of a workload without a pod template all counts but metadata, status and
// spec.replicas. So a component that is only scaled, or gets another strategy, keeps its revision. It fails when there is no
// workload, or one that cannot be encoded.
func TemplateHash(workload map[string]any) (string, error) {
	if len(workload) == 0 {
		return "", errors.New("there is no workload")
	}
	kind, _ := workload["kind"].(string)
	version, _ := workload["apiVersion"].(string)
	group, _, grouped := strings.Cut(version, "/")
	if !grouped {
		group = ""
	}
	tree := map[string]any{"group": group, "kind": kind}
	pods, err := podsOf(workload)
	if err != nil {
		return "", err
	}
	if pods == "" {
		rest, err := restOf(workload)
		if err != nil {
			return "", err
		}
		tree["rest"] = rest
		return hashOf(tree)
	}
	tree["pods"] = pods
	spec, _ := workload["spec"].(map[string]any)
	selector, err := copyOf(spec["selector"])
	if err != nil {
		return "", err
	}
	if selector = pruned(selector, isEmpty); !isEmpty(selector) {
		tree["selector"] = selector
	}
	return hashOf(tree)
}

// podsOf returns the one spelling of a workload's pod template, and the empty string when it has none.
func podsOf(workload map[string]any) (string, error) {
	spec, _ := workload["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	if _, ok := pod["containers"].([]any); !ok {
		return "", nil
	}
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		return "", fmt.Errorf("encoding the pod template: %w", err)
	}
	decoded := podrevision.Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: raw}})
	if decoded.Err != nil {
		return "", nil //nolint:nilerr // what no pod can be made from is compared as plain data; the server refuses it
	}
	return decoded.Canonical, nil
}

// restOf returns what counts of a workload that has no pod template.
func restOf(workload map[string]any) (any, error) {
	rest := maps.Clone(workload)
	for _, key := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(rest, key)
	}
	if spec, ok := rest["spec"].(map[string]any); ok {
		spec = maps.Clone(spec)
		delete(spec, "replicas")
		rest["spec"] = spec
	}
	copied, err := copyOf(rest)
	if err != nil {
		return nil, err
	}
	return pruned(copied, func(value any) bool { return value == nil }), nil
}

// copyOf returns the value as it is read from its JSON, so that a number is the same whatever type it had.
func copyOf(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding the workload: %w", err)
	}
	var copied any
	if err := json.Unmarshal(raw, &copied); err != nil {
		return nil, fmt.Errorf("reading the workload: %w", err)
	}
	return copied, nil
}

// pruned removes members of maps, at any depth and the innermost first. What is in a list stays: it holds a place.
func pruned(node any, drop func(any) bool) any {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if node[key] = pruned(value, drop); drop(node[key]) {
				delete(node, key)
			}
		}
	case []any:
		for i := range node {
			node[i] = pruned(node[i], drop)
		}
	}
	return node
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	default:
		return false
	}
}
