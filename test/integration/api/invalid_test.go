// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// spoil changes one value of an object; the path is written with dots, and "-" in front removes the value.
type spoil struct {
	path  string
	value any
}

func (s spoil) apply(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if path, remove := strings.CutPrefix(s.path, "-"); remove {
		unstructured.RemoveNestedField(object.Object, strings.Split(path, ".")...)
		return
	}
	if err := unstructured.SetNestedField(object.Object, s.value, strings.Split(s.path, ".")...); err != nil {
		t.Fatalf("setting %s: %v", s.path, err)
	}
}

type object = map[string]any
type list = []any

// A refusal must name the field by its full path, and say what the rule is.
type invalidCase struct {
	spoils []spoil
	field  string
	rule   string
}

// invalidPods are mistakes that every kind refuses: in the selector, the template and the hooks.
func invalidPods() map[string]invalidCase {
	cases := maps.Clone(invalidTemplates)
	for _, hook := range []string{"preDelete", "inPlaceUpdate", "preNormal"} {
		labels, finalizers := "spec.lifecycle."+hook+".labelsHandler", "spec.lifecycle."+hook+".finalizersHandler"
		maps.Copy(cases, map[string]invalidCase{
			"a finalizer of " + hook + " has a valid name": {
				[]spoil{{finalizers, list{"example.com/drain", "not valid"}}}, finalizers + "[1]", "must be a qualified name"},
			"a finalizer of " + hook + " has a name": {
				[]spoil{{finalizers, list{""}}}, finalizers + "[0]", "must be a qualified name"},
			"a label of " + hook + " has a valid key": {
				[]spoil{{labels, object{"Example.com/ready": "true"}}}, labels, `these are not: ["Example.com/ready"]`},
			"a label of " + hook + " has a valid value": {
				[]spoil{{labels, object{"example.com/ready": "as soon as possible"}}},
				labels, `those of these keys are not: ["example.com/ready"]`},
			"a label of " + hook + " has a value of at most 63 characters": {
				[]spoil{{labels, object{"example.com/ready": strings.Repeat("a", 64)}}},
				labels + ".example.com/ready", "may not be more than 63"},
		})
	}
	return cases
}

var invalidTemplates = map[string]invalidCase{
	"a selector is needed": {
		[]spoil{{"-spec.selector", nil}}, "spec.selector", "Required value"},
	"a selector selects something": {
		[]spoil{{"spec.selector", object{}}}, "spec.selector", "must have at least one entry in matchLabels or matchExpressions"},
	"a selector of empty parts selects nothing": {
		[]spoil{{"spec.selector", object{"matchLabels": object{}, "matchExpressions": list{}}}},
		"spec.selector", "must have at least one entry in matchLabels or matchExpressions"},
	"a selector has operators that exist": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "app", "operator": "Equals", "values": list{"web"}}}}},
		"spec.selector.matchExpressions[0].operator", `supported values: "In", "NotIn", "Exists", "DoesNotExist"`},
	"an expression has a key": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"operator": "Exists"}}}},
		"spec.selector.matchExpressions[0].key", "Required value"},
	"an expression has an operator": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "app"}}}},
		"spec.selector.matchExpressions[0].operator", "Required value"},
	"operator In has values": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "app", "operator": "In"}}}},
		"spec.selector.matchExpressions[0].values", "must have at least one value for operator In"},
	"operator NotIn has values": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "x", "operator": "NotIn", "values": list{}}}}},
		"spec.selector.matchExpressions[0].values", "must have at least one value for operator NotIn"},
	"operator Exists has no values": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "app", "operator": "Exists", "values": list{"web"}}}}},
		"spec.selector.matchExpressions[0].values", "must be empty for operator Exists"},
	"operator DoesNotExist has no values": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "x", "operator": "DoesNotExist", "values": list{"web"}}}}},
		"spec.selector.matchExpressions[0].values", "must be empty for operator DoesNotExist"},

	"a selected label has a valid key": {
		[]spoil{{"spec.selector.matchLabels", object{"app/": "web"}}, {"spec.template.metadata.labels", object{"app/": "web"}}},
		"spec.selector.matchLabels", `these are not: ["app/"]`},
	"a selected label has a valid value": {
		[]spoil{{"spec.selector.matchLabels.app", "-web"}, {"spec.template.metadata.labels.app", "-web"}},
		"spec.selector.matchLabels", `those of these keys are not: ["app"]`},
	"an expression has a valid key": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "", "operator": "DoesNotExist"}}}},
		"spec.selector.matchExpressions[0].key", "should match '^([a-z0-9]"},
	"an expression has valid values": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "x", "operator": "NotIn", "values": list{"a", "b c"}}}}},
		"spec.selector.matchExpressions[0].values[1]", "should match '^([A-Za-z0-9]"},

	"the template carries the labels that are selected": {
		[]spoil{{"spec.template.metadata.labels.app", "other"}},
		"spec.template.metadata.labels", `must have every label of selector.matchLabels, and lacks: ["app=web"]`},
	"a template without labels is not selected": {
		[]spoil{{"-spec.template.metadata", nil}},
		"spec.template.metadata.labels", `must have every label of selector.matchLabels, and lacks: ["app=web"]`},
	"the template's label has one of the values selected": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "tier", "operator": "In", "values": list{"back"}}}}},
		"spec.template.metadata.labels", `does not match those for: ["tier"]`},
	"the template's label has none of the values left out": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "tier", "operator": "NotIn", "values": list{"front"}}}}},
		"spec.template.metadata.labels", `does not match those for: ["tier"]`},
	"the template has a label that must exist": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "zone", "operator": "Exists"}}}},
		"spec.template.metadata.labels", `does not match those for: ["zone"]`},
	"the template has no label that must not exist": {
		[]spoil{{"spec.selector.matchExpressions", list{object{"key": "tier", "operator": "DoesNotExist"}}}},
		"spec.template.metadata.labels", `does not match those for: ["tier"]`},
	"a label is a string": {
		[]spoil{{"spec.template.metadata.labels.version", int64(1)}},
		"spec.template.metadata.labels.version", "must be of type string"},

	"a template is needed": {
		[]spoil{{"-spec.template", nil}}, "spec.template", "Required value"},
	"a template has a pod spec": {
		[]spoil{{"-spec.template.spec", nil}}, "spec.template.spec", "Required value"},
	"a pod has containers": {
		[]spoil{{"-spec.template.spec.containers", nil}}, "spec.template.spec.containers", "Required value"},
	"a pod has at least one container": {
		[]spoil{{"spec.template.spec.containers", list{}}}, "spec.template.spec.containers", "should have at least 1 items"},
	"pods restart always": {
		[]spoil{{"spec.template.spec.restartPolicy", "OnFailure"}},
		"spec.template.spec.restartPolicy", `supported values: "Always"`},
	"pods have no deadline": {
		[]spoil{{"spec.template.spec.activeDeadlineSeconds", int64(60)}},
		"spec.template.spec.activeDeadlineSeconds", "must not be set"},
}

// invalidPriorities are mistakes in the order of an update, which stands at different places of the kinds.
func invalidPriorities(at string) map[string]invalidCase {
	return map[string]invalidCase{
		"priorities go by weight or by order, not both": {
			[]spoil{{at, object{
				"orderPriority":  list{object{"orderedKey": "order"}},
				"weightPriority": list{object{"weight": int64(1), "matchSelector": object{"matchLabels": object{"a": "b"}}}},
			}}}, at, "only one of orderPriority and weightPriority"},
		"a weight is at most 100": {
			[]spoil{weight(at, 101, object{"matchLabels": object{"a": "b"}})},
			at + ".weightPriority[0].weight", "less than or equal to 100"},
		"a weight is not negative": {
			[]spoil{weight(at, -1, object{"matchLabels": object{"a": "b"}})},
			at + ".weightPriority[0].weight", "greater than or equal to 0"},
		"a weight is for pods that are selected": {
			[]spoil{weight(at, 1, object{})},
			at + ".weightPriority[0].matchSelector", "must have at least one entry"},
		"the selector of a weight can be parsed": {
			[]spoil{weight(at, 1, object{"matchExpressions": list{object{"key": "a", "operator": "Like"}}})},
			at + ".weightPriority[0].matchSelector.matchExpressions[0].operator", "supported values"},
		"a weight has a number": {
			[]spoil{{at + ".weightPriority", list{object{"matchSelector": object{"matchLabels": object{"a": "b"}}}}}},
			at + ".weightPriority[0].weight", "Required value"},
		"a weight has a selector": {
			[]spoil{{at + ".weightPriority", list{object{"weight": int64(1)}}}},
			at + ".weightPriority[0].matchSelector", "Required value"},
		"an order has a label": {
			[]spoil{{at + ".orderPriority", list{object{}}}},
			at + ".orderPriority[0].orderedKey", "Required value"},
		"an order goes by some label": {
			[]spoil{{at + ".orderPriority", list{object{"orderedKey": ""}}}},
			at + ".orderPriority[0].orderedKey", "at least 1 chars"},
	}
}

func weight(at string, weight int64, selector object) spoil {
	return spoil{at + ".weightPriority", list{object{"weight": weight, "matchSelector": selector}}}
}

// refuse wants each of the mistakes in a sound object to be refused by field and rule.
func refuse(t *testing.T, sound string, mistakes ...map[string]invalidCase) {
	t.Helper()
	cases := map[string]invalidCase{}
	for _, some := range mistakes {
		maps.Copy(cases, some)
	}
	for _, sentence := range slices.Sorted(maps.Keys(cases)) {
		test := cases[sentence]
		t.Run(sentence, func(t *testing.T) {
			set := manifest(t, sound)
			for _, s := range test.spoils {
				s.apply(t, set)
			}
			err := untyped.Create(t.Context(), set)
			if !apierrors.IsInvalid(err) {
				t.Fatalf("got error %v, want the status Invalid", err)
			}
			checkCauses(t, err, test.field, test.rule)
		})
	}
}

// checkCauses wants one of the causes that the API server lists to have exactly this field, and a message with this rule.
func checkCauses(t *testing.T, err error, field, rule string) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		t.Fatalf("the error carries no details: %v", err)
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == field && strings.Contains(cause.Message, rule) {
			return
		}
	}
	t.Errorf("no cause names field %q and rule %q:\n%v", field, rule, err)
}
