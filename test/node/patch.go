// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Patch is the strategic merge patch of the status subresource that turns the pod's status into
// the given one. It names only what differs, so that a condition which another client writes at the
// same time survives, and carries the UID, so that it never reaches a later pod of the same name.
func Patch(pod *corev1.Pod, status *corev1.PodStatus) ([]byte, error) {
	type identity struct {
		UID types.UID `json:"uid"`
	}
	type document struct {
		Metadata identity          `json:"metadata"`
		Status   *corev1.PodStatus `json:"status"`
	}
	before, err := json.Marshal(document{Status: &pod.Status})
	if err != nil {
		return nil, fmt.Errorf("encoding the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	after, err := json.Marshal(document{Metadata: identity{UID: pod.UID}, Status: status})
	if err != nil {
		return nil, fmt.Errorf("encoding the next status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("comparing statuses of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return patch, nil
}
