// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
)

// soundStatefulSet has nothing wrong with it; every case below spoils one thing. Its pods need not wait for one another, so
// that everything can be asked of it.
const soundStatefulSet = `
apiVersion: apps.kruise.io/v1beta1
kind: StatefulSet
metadata:
  generateName: sound-
  namespace: default
spec:
  replicas: 5
  podManagementPolicy: Parallel
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

// ordered makes the pods wait for one another.
var ordered = spoil{"spec.podManagementPolicy", "OrderedReady"}

const rolling = "spec.updateStrategy.rollingUpdate"

func reserved(ordinals ...any) []spoil { return []spoil{{"spec.reserveOrdinals", ordinals}} }

var invalidStatefulSets = map[string]invalidCase{
	"a StatefulSet needs a spec": {
		[]spoil{{"-spec", nil}}, "spec", "Required value"},
	"its name is at most 52 characters": {
		[]spoil{{"metadata.name", strings.Repeat("a", 53)}}, "metadata.name", "at most 52 characters"},
	"its name has no dots": {
		[]spoil{{"metadata.name", "web.example"}}, "metadata.name", "must be a DNS label"},
	"replicas is not negative": {
		[]spoil{{"spec.replicas", int64(-1)}}, "spec.replicas", "greater than or equal to 0"},
	"replicas fits into 32 bits": {
		[]spoil{{"spec.replicas", int64(3000000000)}}, ".spec.replicas", "less than or equal to 2147483647"},
	"revisionHistoryLimit is not negative": {
		[]spoil{{"spec.revisionHistoryLimit", int64(-1)}}, "spec.revisionHistoryLimit", "greater than or equal to 0"},
	"the first ordinal is not negative": {
		[]spoil{{"spec.ordinals", object{"start": int64(-1)}}}, "spec.ordinals.start", "greater than or equal to 0"},
	"partition is not negative": {
		[]spoil{{rolling + ".partition", int64(-1)}}, rolling + ".partition", "greater than or equal to 0"},
	"partition is no percentage": {
		[]spoil{{rolling + ".partition", "50%"}}, rolling + ".partition", "must be of type integer"},
	"minReadySeconds is not negative": {
		[]spoil{{rolling + ".minReadySeconds", int64(-1)}}, rolling + ".minReadySeconds", "greater than or equal to 0"},
	"minReadySeconds is at most 300": {
		[]spoil{{rolling + ".minReadySeconds", int64(301)}}, rolling + ".minReadySeconds", "less than or equal to 300"},
	"the grace period is not negative": {
		[]spoil{{rolling + ".inPlaceUpdateStrategy.gracePeriodSeconds", int64(-1)}},
		rolling + ".inPlaceUpdateStrategy.gracePeriodSeconds", "greater than or equal to 0"},
	"paused is true or false": {
		[]spoil{{rolling + ".paused", "yes"}}, rolling + ".paused", "must be of type boolean"},

	"the management policy is one that exists": {
		[]spoil{{"spec.podManagementPolicy", "Ordered"}}, "spec.podManagementPolicy", `supported values: "OrderedReady", "Parallel"`},
	"the type of update is one that exists": {
		[]spoil{{"spec.updateStrategy.type", "ReCreate"}}, "spec.updateStrategy.type", `supported values: "RollingUpdate", "OnDelete"`},
	"the pod update policy is one that exists": {
		[]spoil{{rolling + ".podUpdatePolicy", "InPlace"}},
		rolling + ".podUpdatePolicy", `supported values: "ReCreate", "InPlaceIfPossible", "InPlaceOnly"`},
	"the update of claims is one that exists": {
		[]spoil{{"spec.volumeClaimUpdateStrategy.type", "RollingUpdate"}},
		"spec.volumeClaimUpdateStrategy.type", `supported values: "OnDelete", "OnPodRollingUpdate"`},
	"what happens to claims on deletion is something that exists": {
		[]spoil{{"spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "Keep"}},
		"spec.persistentVolumeClaimRetentionPolicy.whenDeleted", `supported values: "Retain", "Delete"`},
	"what happens to claims on scaling is something that exists": {
		[]spoil{{"spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Keep"}},
		"spec.persistentVolumeClaimRetentionPolicy.whenScaled", `supported values: "Retain", "Delete"`},
	"a service has a name that a pod can carry": {
		[]spoil{{"spec.serviceName", "Web"}}, "spec.serviceName", "should match '^([a-z0-9]"},
	"the name of a service is at most 63 characters": {
		[]spoil{{"spec.serviceName", strings.Repeat("a", 64)}}, "spec.serviceName", "may not be more than 63"},

	"unordered updates need pods that do not wait": {
		[]spoil{ordered, {rolling + ".unorderedUpdate", object{}}},
		rolling + ".unorderedUpdate", "must not be set unless podManagementPolicy is Parallel"},

	"a reserved ordinal is not negative": {
		reserved(int64(1), int64(-1)), "spec.reserveOrdinals[1]", "greater than or equal to 0"},
	"a reserved ordinal fits into 32 bits": {
		reserved(int64(2147483648)), "spec.reserveOrdinals[0]", "less than or equal to 2147483647"},
	"a reserved ordinal is no word": {
		reserved("first"), "spec.reserveOrdinals[0]", "should match '^[0-9]{1,10}-[0-9]{1,10}$'"},
	"a reserved ordinal as a string is a range": {
		reserved("3"), "spec.reserveOrdinals[0]", "should match '^[0-9]{1,10}-[0-9]{1,10}$'"},
	"a reserved range has two ends":     {reserved("3-"), "spec.reserveOrdinals[0]", "should match"},
	"a reserved range is not negative":  {reserved("-3"), "spec.reserveOrdinals[0]", "should match"},
	"a reserved range has no middle":    {reserved("1-2-3"), "spec.reserveOrdinals[0]", "should match"},
	"a reserved range has no spaces":    {reserved("1 - 2"), "spec.reserveOrdinals[0]", "should match"},
	"a reserved range is not empty":     {reserved(""), "spec.reserveOrdinals[0]", "should match"},
	"a reserved range goes upward":      {reserved("5-3"), "spec.reserveOrdinals[0]", leftAboveRight},
	"a range of 10 to 9 goes downward":  {reserved("10-9"), "spec.reserveOrdinals[0]", leftAboveRight},
	"a range of 21 to 12 goes downward": {reserved("21-12"), "spec.reserveOrdinals[0]", leftAboveRight},
	"a range of 130 to 129 goes downward, whatever zeros there are": {
		reserved("130-0000000129"), "spec.reserveOrdinals[0]", leftAboveRight},
	"a range of the longest numbers goes upward": {
		reserved(int64(1), "0-5", "2147483647-2147483646"), "spec.reserveOrdinals[2]", leftAboveRight},
	"a reserved range ends at the greatest ordinal": {
		reserved("0-2147483648"), "spec.reserveOrdinals[0]", "at or below 2147483647"},
	"a reserved range ends far below the longest number": {
		reserved("2147483647-9999999999"), "spec.reserveOrdinals[0]", "at or below 2147483647"},
	"there are at most 2048 entries": {
		reserved(make([]any, 2049)...), "spec.reserveOrdinals", "must have at most 2048 items"},

	"claim templates are a list": {
		[]spoil{{"spec.volumeClaimTemplates", claim("data", "1Gi")}}, "spec.volumeClaimTemplates", "must be of type array"},
	"a claim template has a name": {
		[]spoil{{"spec.volumeClaimTemplates", list{object{"metadata": object{}}}}},
		"spec.volumeClaimTemplates[0].metadata.name", "Required value"},
	"the name of a claim template is not empty": {
		[]spoil{{"spec.volumeClaimTemplates", list{claim("", "1Gi")}}}, "spec.volumeClaimTemplates[0].metadata.name", "at least 1 chars"},
	"the name of a claim template fits a volume": {
		[]spoil{{"spec.volumeClaimTemplates", list{claim(strings.Repeat("a", 64), "1Gi")}}},
		"spec.volumeClaimTemplates[0].metadata.name", "may not be more than 63"},
	"the size of a claim is a quantity": {
		[]spoil{{"spec.volumeClaimTemplates", list{claim("data", "1 GB")}}},
		"spec.volumeClaimTemplates[0].spec.resources.requests.storage", "should match"},
}

const leftAboveRight = "whose left end is not above its right end"

// invalidUnavailable are mistakes in the two bounds, which follow the same rules.
func invalidUnavailable(at string) map[string]invalidCase {
	cases := map[string]invalidCase{}
	for sentence, value := range map[string]any{
		"zero": int64(0), "negative": int64(-1), "above 32 bits": int64(2147483648), "a number in a string": "1", "a word": "many",
		"zero percent": "0%", "zero percent with decimals": "0.00%", "a negative percentage": "-10%", "half a percentage": ".5%",
	} {
		cases[at+" is not "+sentence] = invalidCase{[]spoil{{at, value}}, at, "must be a whole number from 1 to 2147483647, or a percentage above 0%"}
	}
	cases[at+" is 1 for pods that wait"] = invalidCase{[]spoil{ordered, {at, int64(2)}}, at, "must be 1 unless podManagementPolicy is Parallel, and is 2"}
	cases[at+" is 1 for pods that wait by default"] = invalidCase{[]spoil{{"-spec.podManagementPolicy", nil}, {at, int64(2)}},
		at, "must be 1 unless podManagementPolicy is Parallel, and is 2"}
	cases[at+" is no percentage for pods that wait"] = invalidCase{[]spoil{ordered, {at, "20%"}},
		at, "must be 1 unless podManagementPolicy is Parallel, and is 20%"}
	return cases
}

// claim is a claim template as a user writes it.
func claim(name, size string) object {
	return object{"metadata": object{"name": name}, "spec": object{
		"accessModes": list{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": size}}}}
}

func TestTheSoundStatefulSetIsAccepted(t *testing.T) {
	if err := untyped.Create(t.Context(), manifest(t, soundStatefulSet)); err != nil {
		t.Fatalf("every case of this file starts from this object, so it must be valid: %v", err)
	}
}

func TestInvalidStatefulSetsAreRefusedByFieldAndRule(t *testing.T) {
	refuse(t, soundStatefulSet, invalidStatefulSets, invalidPods(), invalidPriorities(rolling+".unorderedUpdate.priorityStrategy"),
		invalidUnavailable(rolling+".maxUnavailable"), invalidUnavailable("spec.scaleStrategy.maxUnavailable"))
}
