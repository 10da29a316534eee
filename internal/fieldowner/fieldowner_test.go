// SPDX-License-Identifier: Apache-2.0

package fieldowner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/fieldowner"
)

func object() metav1.Object {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	return &metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		entry("slipway", metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{}}},"f:metadata":{"f:labels":{}}}`),
		entry("autoscaler", metav1.ManagedFieldsOperationUpdate, `{"f:spec":{"f:replicas":{}}}`),
		entry("slipway", metav1.ManagedFieldsOperationUpdate, `{"f:spec":{"f:replicas":{},"f:paused":{}}}`),
		entry("broken", metav1.ManagedFieldsOperationUpdate, `[`),
		{Manager: "empty"},
	}}
}

func TestOwnersOfAField(t *testing.T) {
	for sentence, c := range map[string]struct {
		path    []string
		owners  []string
		applied bool
	}{
		"several own one, each is named once":       {[]string{"spec", "replicas"}, []string{"slipway", "autoscaler"}, true},
		"one was written and not applied":           {[]string{"spec", "paused"}, []string{"slipway"}, false},
		"one below another":                         {[]string{"spec", "template", "spec"}, []string{"slipway"}, true},
		"a name is whole":                           {[]string{"spec", "replica"}, nil, false},
		"nobody owns what is not there":             {[]string{"spec", "replicas", "more"}, nil, false},
		"what stands beside it is nothing to it":    {[]string{"metadata", "replicas"}, nil, false},
		"the parent of an owned field is spoken of": {[]string{"metadata"}, []string{"slipway"}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.owners, fieldowner.Of(object(), c.path...)); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if got := fieldowner.Applied(object(), "slipway", c.path...); got != c.applied {
				t.Errorf("applied: got %v, want %v", got, c.applied)
			}
		})
	}
}

func TestWhoseAFieldIs(t *testing.T) {
	for sentence, c := range map[string]struct {
		managers       []string
		path           []string
		theirs, others bool
	}{
		"theirs and somebody else's":   {[]string{"slipway", "old"}, []string{"spec", "replicas"}, true, true},
		"theirs alone":                 {[]string{"slipway"}, []string{"spec", "paused"}, true, false},
		"somebody else's alone":        {[]string{"old"}, []string{"spec", "paused"}, false, true},
		"all of its owners are theirs": {[]string{"slipway", "autoscaler"}, []string{"spec", "replicas"}, true, false},
		"nobody's":                     {[]string{"slipway"}, []string{"spec", "strategy"}, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if theirs, others := fieldowner.Whose(object(), c.managers, c.path...); theirs != c.theirs || others != c.others {
				t.Errorf("theirs %t, others %t; want %t, %t", theirs, others, c.theirs, c.others)
			}
		})
	}
}
