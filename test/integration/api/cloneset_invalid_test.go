// SPDX-License-Identifier: Apache-2.0

package api_test

import "testing"

// soundCloneSet has nothing wrong with it; every case below spoils one thing.
const soundCloneSet = `
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

var invalidCloneSets = map[string]invalidCase{
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

	"claim templates are a list": {
		[]spoil{{"spec.volumeClaimTemplates", object{"metadata": object{"name": "data"}}}},
		"spec.volumeClaimTemplates", "must be of type array"},

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

func TestTheSoundCloneSetIsAccepted(t *testing.T) {
	if err := untyped.Create(t.Context(), manifest(t, soundCloneSet)); err != nil {
		t.Fatalf("every case of this file starts from this object, so it must be valid: %v", err)
	}
}

func TestInvalidCloneSetsAreRefusedByFieldAndRule(t *testing.T) {
	refuse(t, soundCloneSet, invalidCloneSets, invalidPods(), invalidPriorities("spec.updateStrategy.priorityStrategy"))
}
