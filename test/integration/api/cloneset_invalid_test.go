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

// sound is a CloneSet that has nothing wrong with it; every case below spoils one thing.
const sound = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata:
  generateName: sound-
  namespace: default
spec:
  replicas: 5
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web, tier: front}
    spec:
      containers:
      - name: web
        image: web:1
`

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

var invalid = map[string]invalidCase{
	"a CloneSet needs a spec": {
		[]spoil{{"-spec", nil}}, "spec", "Required value"},
	"replicas is not negative": {
		[]spoil{{"spec.replicas", int64(-1)}}, "spec.replicas", "greater than or equal to 0"},
	"replicas fits into 32 bits": {
		[]spoil{{"spec.replicas", int64(3000000000)}}, ".spec.replicas", "less than or equal to 2147483647"},
	"replicas is a number": {
		[]spoil{{"spec.replicas", "5"}}, "spec.replicas", "must be of type integer"},
	"minReadySeconds is not negative": {
		[]spoil{{"spec.minReadySeconds", int64(-1)}}, "spec.minReadySeconds", "greater than or equal to 0"},
	"revisionHistoryLimit is not negative": {
		[]spoil{{"spec.revisionHistoryLimit", int64(-1)}}, "spec.revisionHistoryLimit", "greater than or equal to 0"},
	"the progress deadline is not negative": {
		[]spoil{{"spec.progressDeadlineSeconds", int64(-1)}}, "spec.progressDeadlineSeconds", "greater than or equal to 0"},
	"a progress deadline of zero is no deadline at all": {
		[]spoil{{"spec.progressDeadlineSeconds", int64(0)}}, "spec.progressDeadlineSeconds", "must be greater than minReadySeconds"},
	"the progress deadline lies after minReadySeconds": {
		[]spoil{{"spec.progressDeadlineSeconds", int64(60)}, {"spec.minReadySeconds", int64(60)}},
		"spec.progressDeadlineSeconds", "must be greater than minReadySeconds, which is 60, and is 60"},
	"the grace period is not negative": {
		[]spoil{{"spec.updateStrategy.inPlaceUpdateStrategy.gracePeriodSeconds", int64(-1)}},
		"spec.updateStrategy.inPlaceUpdateStrategy.gracePeriodSeconds", "greater than or equal to 0"},

	"the type of update is one that exists": {
		[]spoil{{"spec.updateStrategy.type", "RollingUpdate"}},
		"spec.updateStrategy.type", `supported values: "ReCreate", "InPlaceIfPossible", "InPlaceOnly", "OnDelete"`},
	"partition is not negative": {
		[]spoil{{"spec.updateStrategy.partition", int64(-1)}}, "spec.updateStrategy.partition", "whole number from 0"},
	"partition as a string needs a percent sign": {
		[]spoil{{"spec.updateStrategy.partition", "5"}}, "spec.updateStrategy.partition", "percentage such as 25%"},
	"partition is no fraction": {
		[]spoil{{"spec.updateStrategy.partition", 1.5}}, "spec.updateStrategy.partition", "integer"},
	"maxUnavailable fits into 32 bits": {
		[]spoil{{"spec.updateStrategy.maxUnavailable", int64(3000000000)}}, "spec.updateStrategy.maxUnavailable", "2147483647"},
	"maxUnavailable is no negative percentage": {
		[]spoil{{"spec.updateStrategy.maxUnavailable", "-20%"}}, "spec.updateStrategy.maxUnavailable", "percentage such as 25%"},
	"maxSurge is no word": {
		[]spoil{{"spec.updateStrategy.maxSurge", "many"}}, "spec.updateStrategy.maxSurge", "percentage such as 25%"},
	"a percentage with decimals has digits on both sides of the point": {
		[]spoil{{"spec.updateStrategy.maxSurge", ".5%"}}, "spec.updateStrategy.maxSurge", "12.5%"},
	"the bound on creations is a number or a percentage": {
		[]spoil{{"spec.scaleStrategy.maxUnavailable", "10"}}, "spec.scaleStrategy.maxUnavailable", "percentage such as 25%"},
	"paused is true or false": {
		[]spoil{{"spec.updateStrategy.paused", "yes"}}, "spec.updateStrategy.paused", "must be of type boolean"},

	"an update needs room, in unavailable pods or in surge": {
		[]spoil{{"spec.updateStrategy.maxUnavailable", int64(0)}},
		"spec.updateStrategy.maxUnavailable", "must not be zero together with maxSurge"},
	"percentages of zero are no room either": {
		[]spoil{{"spec.updateStrategy.maxUnavailable", "0%"}, {"spec.updateStrategy.maxSurge", "0.00%"}},
		"spec.updateStrategy.maxUnavailable", "must not be zero together with maxSurge"},
	"InPlaceOnly makes no pods": {
		[]spoil{{"spec.updateStrategy.type", "InPlaceOnly"}, {"spec.updateStrategy.maxSurge", int64(1)}},
		"spec.updateStrategy.maxSurge", "must be 0 when updateStrategy.type is InPlaceOnly, and is 1"},
	"InPlaceOnly makes no pods by percentage": {
		[]spoil{{"spec.updateStrategy.type", "InPlaceOnly"}, {"spec.updateStrategy.maxSurge", "10%"}},
		"spec.updateStrategy.maxSurge", "must be 0 when updateStrategy.type is InPlaceOnly, and is 10%"},

	"a pod is chosen for deletion once": {
		[]spoil{{"spec.scaleStrategy.podsToDelete", list{"web-aaaaa", "web-bbbbb", "web-aaaaa"}}},
		"spec.scaleStrategy.podsToDelete[2]", `Duplicate value: "web-aaaaa"`},

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

	"claim templates are a list": {
		[]spoil{{"spec.volumeClaimTemplates", object{"metadata": object{"name": "data"}}}},
		"spec.volumeClaimTemplates", "must be of type array"},

	"priorities go by weight or by order, not both": {
		[]spoil{{"spec.updateStrategy.priorityStrategy", object{
			"orderPriority":  list{object{"orderedKey": "order"}},
			"weightPriority": list{object{"weight": int64(1), "matchSelector": object{"matchLabels": object{"a": "b"}}}},
		}}}, "spec.updateStrategy.priorityStrategy", "only one of orderPriority and weightPriority"},
	"a weight is at most 100": {
		[]spoil{weight(101, object{"matchLabels": object{"a": "b"}})},
		"spec.updateStrategy.priorityStrategy.weightPriority[0].weight", "less than or equal to 100"},
	"a weight is not negative": {
		[]spoil{weight(-1, object{"matchLabels": object{"a": "b"}})},
		"spec.updateStrategy.priorityStrategy.weightPriority[0].weight", "greater than or equal to 0"},
	"a weight is for pods that are selected": {
		[]spoil{weight(1, object{})},
		"spec.updateStrategy.priorityStrategy.weightPriority[0].matchSelector", "must have at least one entry"},
	"the selector of a weight can be parsed": {
		[]spoil{weight(1, object{"matchExpressions": list{object{"key": "a", "operator": "Like"}}})},
		"spec.updateStrategy.priorityStrategy.weightPriority[0].matchSelector.matchExpressions[0].operator", "supported values"},
	"a weight has a number": {
		[]spoil{{"spec.updateStrategy.priorityStrategy.weightPriority", list{object{"matchSelector": object{"matchLabels": object{"a": "b"}}}}}},
		"spec.updateStrategy.priorityStrategy.weightPriority[0].weight", "Required value"},
	"a weight has a selector": {
		[]spoil{{"spec.updateStrategy.priorityStrategy.weightPriority", list{object{"weight": int64(1)}}}},
		"spec.updateStrategy.priorityStrategy.weightPriority[0].matchSelector", "Required value"},
	"an order has a label": {
		[]spoil{{"spec.updateStrategy.priorityStrategy.orderPriority", list{object{}}}},
		"spec.updateStrategy.priorityStrategy.orderPriority[0].orderedKey", "Required value"},
	"an order goes by some label": {
		[]spoil{{"spec.updateStrategy.priorityStrategy.orderPriority", list{object{"orderedKey": ""}}}},
		"spec.updateStrategy.priorityStrategy.orderPriority[0].orderedKey", "at least 1 chars"},

	"pods are scattered by a key": {
		[]spoil{{"spec.updateStrategy.scatterStrategy", list{object{"value": "a"}}}},
		"spec.updateStrategy.scatterStrategy[0].key", "Required value"},
	"pods are scattered by a value": {
		[]spoil{{"spec.updateStrategy.scatterStrategy", list{object{"key": "a"}}}},
		"spec.updateStrategy.scatterStrategy[0].value", "Required value"},
	"pods are scattered by some label": {
		[]spoil{{"spec.updateStrategy.scatterStrategy", list{object{"key": "", "value": "a"}}}},
		"spec.updateStrategy.scatterStrategy[0].key", "at least 1 chars"},
	"pods are scattered once by the same label": {
		[]spoil{{"spec.updateStrategy.scatterStrategy", list{object{"key": "a", "value": "b"}, object{"key": "a", "value": "b"}}}},
		"spec.updateStrategy.scatterStrategy", "must not have the same key and value twice"},
}

// allInvalid adds the cases of the three hooks, which obey the same rules.
func allInvalid() map[string]invalidCase {
	cases := maps.Clone(invalid)
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

func weight(weight int64, selector object) spoil {
	return spoil{"spec.updateStrategy.priorityStrategy.weightPriority", list{object{"weight": weight, "matchSelector": selector}}}
}

func TestTheSoundCloneSetIsAccepted(t *testing.T) {
	if err := untyped.Create(t.Context(), manifest(t, sound)); err != nil {
		t.Fatalf("every case of this file starts from this object, so it must be valid: %v", err)
	}
}

func TestInvalidCloneSetsAreRefusedByFieldAndRule(t *testing.T) {
	cases := allInvalid()
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
