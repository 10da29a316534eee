// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var olderStatefulSets = map[string]olderMistake{
	"an unknown type of update": {
		spoil{"spec.updateStrategy.type", "Rolling"}, spoil{"spec.updateStrategy.type", "Other"}, "spec.updateStrategy.type"},
	"a bound of zero": {
		spoil{rolling + ".maxUnavailable", int64(0)}, spoil{rolling + ".maxUnavailable", "0%"}, rolling + ".maxUnavailable"},
	"too long a time to be ready": {
		spoil{rolling + ".minReadySeconds", int64(301)}, spoil{rolling + ".minReadySeconds", int64(302)}, rolling + ".minReadySeconds"},
	"a reserved range that goes downward": {
		spoil{"spec.reserveOrdinals", list{"5-3"}}, spoil{"spec.reserveOrdinals", list{"5-2"}}, "spec.reserveOrdinals[0]"},
	"a reserved word": {
		spoil{"spec.reserveOrdinals", list{"first"}}, spoil{"spec.reserveOrdinals", list{"last"}}, "spec.reserveOrdinals[0]"},
	"a service with a name that no pod can carry": {
		spoil{"spec.serviceName", "web.example"}, spoil{"spec.serviceName", "api.example"}, "spec.serviceName"},
	"a template that restarts on failure": {
		spoil{"spec.template.spec.restartPolicy", "OnFailure"}, spoil{"spec.template.spec.restartPolicy", "Never"},
		"spec.template.spec.restartPolicy"},
	"two kinds of priority": {
		spoil{rolling + ".unorderedUpdate.priorityStrategy", object{"orderPriority": list{object{"orderedKey": "a"}},
			"weightPriority": list{object{"weight": int64(1), "matchSelector": object{"matchLabels": object{"a": "b"}}}}}},
		spoil{rolling + ".unorderedUpdate.priorityStrategy.orderPriority", list{object{"orderedKey": "b"}}},
		rolling + ".unorderedUpdate.priorityStrategy"},
}

// TestOlderStatefulSetsKeepTheirLongNames: a name cannot be corrected, so an object that has been reported on, by whomever,
// goes on.
func TestOlderStatefulSetsKeepTheirLongNames(t *testing.T) {
	namespace := newNamespace(t)
	set := named(t, soundStatefulSet, namespace, "short")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(reportedStatefulSet))); err != nil {
		t.Fatalf("reporting the status: %v", err)
	}
	long := strings.Repeat("a", 60)
	rewrite(t, set, func(stored *unstructured.Unstructured) { stored.SetName(long) })
	if err := untyped.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: long}, set); err != nil {
		t.Fatalf("reading: %v", err)
	}

	spoil{"spec.replicas", int64(6)}.apply(t, set)
	if err := untyped.Update(t.Context(), set); err != nil {
		t.Fatalf("changing the spec: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":7}}`))); err != nil {
		t.Fatalf("reporting the status again: %v", err)
	}
	if got := at(t, set, "status", "replicas"); got != int64(7) {
		t.Errorf("replicas %v, want 7", got)
	}
}

func TestWhatIsImmutableInAStatefulSet(t *testing.T) {
	namespace := newNamespace(t)
	for name, test := range map[string]struct {
		before, change []spoil
		field, rule    string // empty for a change that is allowed
	}{
		"another-selector":          {nil, []spoil{{"spec.selector", object{"matchLabels": object{"tier": "front"}}}}, "spec.selector", "must not be changed"},
		"the-same-selector":         {nil, []spoil{{"spec.selector", object{"matchLabels": object{"app": "web"}, "matchExpressions": list{}}}}, "", ""},
		"another-service":           {[]spoil{{"spec.serviceName", "web"}}, []spoil{{"spec.serviceName", "api"}}, "spec.serviceName", "must not be changed"},
		"a-new-service":             {nil, []spoil{{"spec.serviceName", "api"}}, "spec.serviceName", "must not be changed"},
		"no-service-any-more":       {[]spoil{{"spec.serviceName", "web"}}, []spoil{{"-spec.serviceName", nil}}, "spec.serviceName", "must not be changed"},
		"no-service-in-other-words": {nil, []spoil{{"spec.serviceName", ""}}, "", ""},
		"pods-that-wait":            {nil, []spoil{ordered}, "spec.podManagementPolicy", "must not be changed, and was Parallel"},
		"pods-that-wait-by-default": {nil, []spoil{{"-spec.podManagementPolicy", nil}}, "spec.podManagementPolicy", "must not be changed, and was Parallel"},
		"pods-that-wait-no-more":    {[]spoil{ordered}, []spoil{{"spec.podManagementPolicy", "Parallel"}}, "spec.podManagementPolicy", "must not be changed, and was OrderedReady"},
		"everything-else": {[]spoil{ordered}, []spoil{
			{"spec.replicas", int64(7)}, {"spec.ordinals", object{"start": int64(3)}}, {"spec.reserveOrdinals", list{"4-5"}},
			{"spec.revisionHistoryLimit", int64(7)}, {"spec.updateStrategy.type", "OnDelete"}, {rolling + ".podUpdatePolicy", "InPlaceOnly"},
			{rolling + ".minReadySeconds", int64(7)}, {rolling + ".partition", int64(7)}, {rolling + ".paused", true},
			{"spec.volumeClaimTemplates", list{claim("data", "1Gi")}}, {"spec.scaleStrategy", object{"maxUnavailable": int64(1)}},
			{"spec.persistentVolumeClaimRetentionPolicy", object{"whenDeleted": "Delete", "whenScaled": "Delete"}},
			{"spec.template.spec.containers", list{object{"name": "other", "image": "other:1"}}},
			{"spec.lifecycle", object{"preDelete": object{"markPodNotReady": true}}}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			checkChange(t, named(t, soundStatefulSet, namespace, name), test.before, test.change, test.field, test.rule)
		})
	}
}

// checkChange creates an object and changes it, which must be refused for the field by the rule, or, without a field, be allowed.
func checkChange(t *testing.T, set *unstructured.Unstructured, before, change []spoil, field, rule string) {
	t.Helper()
	for _, s := range before {
		s.apply(t, set)
	}
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	for _, s := range change {
		s.apply(t, set)
	}
	err := untyped.Update(t.Context(), set)
	if field == "" {
		if err != nil {
			t.Errorf("updating: %v", err)
		}
		return
	}
	if !apierrors.IsInvalid(err) {
		t.Fatalf("got error %v, want the status Invalid", err)
	}
	checkCauses(t, err, field, rule)
}

// with returns a claim template with one more value in its spec.
func with(claim object, field string, value any) object {
	claim = runtime.DeepCopyJSON(claim)
	spec, _ := claim["spec"].(object)
	spec[field] = value
	return claim
}

func TestClaimTemplatesThatFollowUpdatesOnlyChangeTheirSizes(t *testing.T) {
	namespace := newNamespace(t)
	data, logs := claim("data", "1Gi"), claim("logs", "500Mi")
	fast, slow := with(data, "storageClassName", "fast"), with(data, "storageClassName", "slow")
	for name, test := range map[string]struct {
		before, after list
		rule          string // empty for a change that is allowed
	}{
		"larger":                    {list{data, logs}, list{claim("data", "2Gi"), claim("logs", "1Gi")}, ""},
		"smaller":                   {list{data}, list{claim("data", "100Mi")}, ""},
		"in-another-order":          {list{data, logs}, list{logs, data}, ""},
		"with-a-limit":              {list{data}, list{with(data, "resources", object{"limits": object{"storage": "1Gi"}})}, ""},
		"added":                     {list{data}, list{data, logs}, "must not be added, removed or renamed"},
		"removed":                   {list{data, logs}, list{data}, "must not be added, removed or renamed"},
		"all-removed":               {list{data}, nil, "must not be added, removed or renamed"},
		"first-ones":                {nil, list{data}, "must not be added, removed or renamed"},
		"none-as-before":            {nil, list{}, ""},
		"renamed":                   {list{data, logs}, list{data, claim("log", "500Mi")}, "must not be added, removed or renamed"},
		"one-twice":                 {list{data, logs}, list{data, data}, "must not be added, removed or renamed"},
		"another-class":             {list{logs, fast}, list{logs, slow}, "must not get another storageClassName"},
		"a-class-now":               {list{data}, list{fast}, ""},
		"no-class-now":              {list{fast}, list{data}, ""},
		"no-class-in-so-many-words": {list{fast}, list{with(data, "storageClassName", "")}, "must not get another storageClassName"},
		"another-mode":              {list{data}, list{with(data, "accessModes", list{"ReadWriteMany"})}, "must not get other accessModes"},
		"one-more-mode":             {list{data}, list{with(data, "accessModes", list{"ReadWriteOnce", "ReadOnlyMany"})}, "must not get other accessModes"},
		"no-mode":                   {list{data}, list{with(data, "accessModes", list{})}, "must not get other accessModes"},
		"no-spec":                   {list{data}, list{object{"metadata": object{"name": "data"}}}, "must not get other accessModes"},
		"a-block-device":            {list{data}, list{with(data, "volumeMode", "Block")}, "must not get another volumeMode"},
		"a-file-system-as-before":   {list{data}, list{with(data, "volumeMode", "Filesystem")}, ""},
		"as-many-as-can-be":         {many("1Gi"), many("2Gi"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			field := ""
			if test.rule != "" {
				field = "spec.volumeClaimTemplates"
			}
			after := spoil{"spec.volumeClaimTemplates", test.after}
			before := []spoil{{"spec.volumeClaimUpdateStrategy.type", "OnPodRollingUpdate"}}
			if test.before != nil {
				before = append(before, spoil{"spec.volumeClaimTemplates", test.before})
			}
			if test.after == nil {
				after = spoil{"-spec.volumeClaimTemplates", nil}
			}
			checkChange(t, named(t, soundStatefulSet, namespace, name), before, []spoil{after}, field, test.rule)
		})
	}

	t.Run("a change of the strategy brings no other changes along", func(t *testing.T) {
		checkChange(t, named(t, soundStatefulSet, namespace, "both-at-once"), []spoil{{"spec.volumeClaimTemplates", list{data}}},
			[]spoil{{"spec.volumeClaimTemplates", list{logs}}, {"spec.volumeClaimUpdateStrategy.type", "OnPodRollingUpdate"}},
			"spec.volumeClaimTemplates", "must not be added, removed or renamed")
	})
	t.Run("claims that do not follow can be changed", func(t *testing.T) {
		checkChange(t, named(t, soundStatefulSet, namespace, "on-delete"), []spoil{{"spec.volumeClaimTemplates", list{fast}}},
			[]spoil{{"spec.volumeClaimTemplates", list{with(slow, "volumeMode", "Block"), logs}}}, "", "")
	})
}

// many are as many claim templates as there can be, in all that the rules look at as long as it can be.
func many(size string) list {
	var all list
	for i := range 64 {
		name := strings.Repeat("a", 61) + string(rune('a'+i/8)) + string(rune('a'+i%8))
		all = append(all, with(claim(name, size), "storageClassName", strings.Repeat("c", 253)))
	}
	return all
}
