// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

func TestTheCacheKeepsOfFieldManagersOnlyWhoApplies(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1", Time: &metav1.Time{Time: time.Unix(1, 0)},
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
		}
	}
	for name, test := range map[string]struct{ stored, want []metav1.ManagedFieldsEntry }{
		"no managers at all":    {},
		"only some that update": {stored: []metav1.ManagedFieldsEntry{entry("kubelet", metav1.ManagedFieldsOperationUpdate)}},
		"one that applies, by its name": {
			stored: []metav1.ManagedFieldsEntry{entry("kubelet", metav1.ManagedFieldsOperationUpdate), entry("argocd", metav1.ManagedFieldsOperationApply)},
			want:   []metav1.ManagedFieldsEntry{{Manager: "argocd", Operation: metav1.ManagedFieldsOperationApply}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept, err := keepAppliers(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: test.stored}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, kept.(*corev1.Pod).ManagedFields); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
	tombstone := toolscache.DeletedFinalStateUnknown{Key: "shop/web"}
	if kept, err := keepAppliers(tombstone); err != nil || kept != any(tombstone) {
		t.Errorf("a tombstone became %v, %v", kept, err)
	}
}
