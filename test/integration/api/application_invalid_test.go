// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"maps"
	"slices"
	"testing"
)

const (
	components = "spec.components"
	aLabel     = "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'"
)

// component is a component of a name, with one more value.
func component(name, key string, value any) object {
	return plus(object{"name": name, "type": "webservice"}, key, value)
}

func oneComponent(key string, value any) []spoil {
	return []spoil{{components, list{component("web", key, value)}}}
}

func oneTrait(key string, value any) []spoil {
	return oneComponent("traits", list{plus(object{"type": "scaler"}, key, value)})
}

var invalidApplications = map[string]invalidCase{
	"an application has components":                      {to("-"+components, nil), components, "Required value"},
	"an application has at least one component":          {to(components, list{}), components, "should have at least 1 items"},
	"an application has at most 50 components":           {to(components, numbered(51, func(name string) object { return component(name, "type", "worker") })), components, "must have at most 50 items"},
	"components have different names":                    {to(components, list{component("web", "type", "worker"), component("web", "type", "worker")}), components + "[1]", "Duplicate value"},
	"a component has a name":                             {to(components, list{object{"type": "worker"}}), components + "[0].name", "Required value"},
	"a component's name is not empty":                    {oneComponent("name", ""), components + "[0].name", "should be at least 1 chars"},
	"a component's name fits into a label with a number": {oneComponent("name", long(53)), components + "[0].name", "may not be more than 52"},
	"a component's name has no capital letters":          {oneComponent("name", "Web"), components + "[0].name", aLabel},
	"a component's name has no dots":                     {oneComponent("name", "web.api"), components + "[0].name", aLabel},
	"a component's name does not end with a dash":        {oneComponent("name", "web-"), components + "[0].name", aLabel},
	"a component has a type":                             {to(components, list{object{"name": "web"}}), components + "[0].type", "Required value"},
	"a component's type is not empty":                    {oneComponent("type", ""), components + "[0].type", "should be at least 1 chars"},
	"a component's type fits into a label":               {oneComponent("type", long(64)), components + "[0].type", "may not be more than 63"},
	"a component's type is a name":                       {oneComponent("type", "webservice@v1"), components + "[0].type", "should match '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'"},
	"properties are an object":                           {oneComponent("properties", "image: web"), components + "[0].properties", "must be of type object"},
	"properties are not a list":                          {oneComponent("properties", list{}), components + "[0].properties", "must be of type object"},
	"a component has at most 50 traits":                  {oneComponent("traits", repeat(51, func(int) any { return object{"type": "labels"} })), components + "[0].traits", "must have at most 50 items"},
	"a trait has a type":                                 {oneComponent("traits", list{object{}}), components + "[0].traits[0].type", "Required value"},
	"a trait's type is not empty":                        {oneTrait("type", ""), components + "[0].traits[0].type", "should be at least 1 chars"},
	"a trait's type is a name":                           {oneTrait("type", "Scaler"), components + "[0].traits[0].type", "should match"},
	"a trait's type fits into a label":                   {oneTrait("type", long(64)), components + "[0].traits[0].type", "may not be more than 63"},
	"properties of a trait are an object":                {oneTrait("properties", int64(3)), components + "[0].traits[0].properties", "must be of type object"},

	"an application's name fits into a label with a number": {to("metadata.name", long(53)), "metadata.name", "must be a DNS label of at most 52 characters"},
	"an application's name has no dots":                     {to("metadata.name", "shop.example"), "metadata.name", "must be a DNS label of at most 52 characters"},

	"policies are not served":           {to("spec.policies", list{object{"name": "a", "type": "override"}}), "spec.policies", "is not served, because what a policy says would be left out"},
	"a workflow is not served":          {to("spec.workflow", object{"steps": list{object{"name": "a", "type": "deploy"}}}), "spec.workflow", "is not served, because what its steps say would be left out"},
	"an order by names is not served":   {oneComponent("dependsOn", list{"jobs"}), components + "[0].dependsOn", "is not served. Components are rolled out one after the other"},
	"inputs are not served":             {oneComponent("inputs", list{object{"from": "a", "parameterKey": "b"}}), components + "[0].inputs", "is not served"},
	"outputs are not served":            {oneComponent("outputs", list{object{"name": "a", "valueFrom": "b"}}), components + "[0].outputs", "is not served"},
	"foreign revisions are not served":  {oneComponent("externalRevision", "web-v1"), components + "[0].externalRevision", "is not served. An AppRollout with targetAppRevisionName"},
	"a plan has batches that leave one": {to(batches, list{batch("50%"), batch("50%"), object{}}), batches, leave + "100%"},
	"a plan has sound hooks":            {to(hooks, list{plus(hook("pre-batch-rollout", "a"), "url", "ftp://a")}), hooks + "[0].url", aURL},
	"a hook is sent along short values": {to(hooks, list{plus(hook("pre-batch-rollout", "a"), "metadata", object{"a": long(1025)})}), hooks + "[0].metadata.a", "may not be more than 1024"},
	"a plan has a strategy that exists": {to(plan+".rolloutStrategy", "Both"), plan + ".rolloutStrategy", "supported values"},
}

var invalidAppRollouts = map[string]invalidCase{
	"a rollout has a target":                   {to("-spec.targetAppRevisionName", nil), "spec.targetAppRevisionName", "Required value"},
	"a target is not empty":                    {to("spec.targetAppRevisionName", ""), "spec.targetAppRevisionName", "should be at least 1 chars"},
	"a target is a name":                       {to("spec.targetAppRevisionName", "shop v2"), "spec.targetAppRevisionName", "should match"},
	"a target is not too long":                 {to("spec.targetAppRevisionName", long(254)), "spec.targetAppRevisionName", "may not be more than 253"},
	"a source is a name":                       {to("spec.sourceAppRevisionName", "Shop"), "spec.sourceAppRevisionName", "should match"},
	"a source is another revision":             {to("spec.sourceAppRevisionName", "shop-v2"), "spec.sourceAppRevisionName", "must be another revision than targetAppRevisionName, and both are shop-v2: leave it out for a scale"},
	"a scale has a size":                       {to("-spec.sourceAppRevisionName", nil), plan + ".targetSize", "must be given without a sourceAppRevisionName"},
	"a scale by an empty source has a size":    {to("spec.sourceAppRevisionName", ""), plan + ".targetSize", "must be given without a sourceAppRevisionName"},
	"a component is a name":                    {to("spec.componentList", list{"web", "Jobs"}), "spec.componentList[1]", aLabel},
	"a component is not empty":                 {to("spec.componentList", list{""}), "spec.componentList[0]", "should be at least 1 chars"},
	"components are not too many":              {to("spec.componentList", repeat(51, func(int) any { return "web" })), "spec.componentList", "must have at most 50 items"},
	"a rollout has a plan":                     {to("-"+plan, nil), plan, "Required value"},
	"a plan has its own number of batches":     {to(plan+".numBatches", int64(3)), plan + ".numBatches", "must be left out, or be the number of rolloutBatches, which is 4, and is 3"},
	"a plan of a rollout has sound metrics":    {to(metrics, list{object{"name": "a", "templateRef": object{"name": "a"}}}), metrics + "[0].metricsRange", "must have min, max or both"},
	"a revert is true or false":                {to("spec.revertOnDelete", "yes"), "spec.revertOnDelete", "must be of type boolean"},
	"a hook of a rollout is sent short values": {to(hooks, list{plus(hook("pre-batch-rollout", "a"), "metadata", object{"a": long(1025)})}), hooks + "[0].metadata.a", "may not be more than 1024"},
}

// invalidDefinitions are mistakes that both kinds of definitions refuse.
var invalidDefinitions = map[string]invalidCase{
	"a definition makes something":           {to("-spec.schematic", nil), "spec.schematic", "Required value"},
	"a definition makes it by CUE":           {to("spec.schematic", object{"helm": object{}}), "spec.schematic.cue", "Required value"},
	"a definition has a template":            {to("spec.schematic.cue", object{}), "spec.schematic.cue.template", "Required value"},
	"a template is not empty":                {to("spec.schematic.cue.template", ""), "spec.schematic.cue.template", "should be at least 1 chars"},
	"a template is not huge":                 {to("spec.schematic.cue.template", long(131073)), "spec.schematic.cue.template", "may not be more than 131072"},
	"a template is a text":                   {to("spec.schematic.cue.template", object{}), "spec.schematic.cue.template", "must be of type string"},
	"a policy of health is not huge":         {to("spec.status.healthPolicy", long(16385)), "spec.status.healthPolicy", "may not be more than 16384"},
	"a status for people is not huge either": {to("spec.status.customStatus", long(16385)), "spec.status.customStatus", "may not be more than 16384"},
}

var invalidComponentDefinitions = map[string]invalidCase{
	"a component definition has a workload":     {to("-spec.workload", nil), "spec.workload", "Required value"},
	"a workload has a kind":                     {to("-spec.workload.definition", nil), "spec.workload.definition", "Required value"},
	"a kind has a name":                         {to("-spec.workload.definition.kind", nil), "spec.workload.definition.kind", "Required value"},
	"the name of a kind is not empty":           {to("spec.workload.definition.kind", ""), "spec.workload.definition.kind", "should be at least 1 chars"},
	"a kind is not a resource with its group":   {to("spec.workload.definition.kind", "deployments.apps"), "spec.workload.definition.kind", "should match"},
	"a kind has a version":                      {to("-spec.workload.definition.apiVersion", nil), "spec.workload.definition.apiVersion", "Required value"},
	"the version of a kind has one slash":       {to("spec.workload.definition.apiVersion", "apps/v1/b"), "spec.workload.definition.apiVersion", "should match"},
	"the version of a kind has no blank around": {to("spec.workload.definition.apiVersion", " apps/v1"), "spec.workload.definition.apiVersion", "should match"},
}

var invalidTraitDefinitions = map[string]invalidCase{
	"workloads have names":        {to("spec.appliesToWorkloads", list{""}), "spec.appliesToWorkloads[0]", "should be at least 1 chars"},
	"workloads are not too many":  {to("spec.appliesToWorkloads", repeat(101, func(int) any { return "a" })), "spec.appliesToWorkloads", "must have at most 100 items"},
	"conflicts have names":        {to("spec.conflictsWith", list{""}), "spec.conflictsWith[0]", "should be at least 1 chars"},
	"conflicts are not too many":  {to("spec.conflictsWith", repeat(101, func(int) any { return "a" })), "spec.conflictsWith", "must have at most 100 items"},
	"disruption is true or false": {to("spec.podDisruptive", "no"), "spec.podDisruptive", "must be of type boolean"},
}

var invalidApplicationRevisions = map[string]invalidCase{
	"a revision has an application":         {to("-spec.application", nil), "spec.application", "Required value"},
	"a revision's number is not negative":   {to("spec.revision", int64(-1)), "spec.revision", "greater than or equal to 0"},
	"a revision's number fits into a label": {to("spec.revision", int64(1000000000)), "spec.revision", "less than or equal to 999999999"},
	"component revisions have their names":  {to("spec.componentRevisions", list{object{"revision": "web-v1"}}), "spec.componentRevisions[0].name", "Required value"},
	"components have one revision each":     {to("spec.componentRevisions", append(renderedWeb("a", "b", "spec"), renderedWeb("a", "b", "spec")...)), "spec.componentRevisions[1]", "Duplicate value"},
	"a rendered resource has its object":    {to("spec.componentRevisions", list{object{"name": "web", "revision": "web-v1", "resources": list{object{"name": "a"}}}}), "spec.componentRevisions[0].resources[0].object", "Required value"},
}

func TestInvalidObjectsOfTheApplicationLayerAreRefused(t *testing.T) {
	refuse(t, soundApplication, invalidApplications)
	refuse(t, soundAppRollout, invalidAppRollouts)
	refuse(t, soundComponentDefinition, invalidDefinitions, invalidComponentDefinitions)
	refuse(t, soundTraitDefinition, invalidDefinitions, invalidTraitDefinitions)
	refuse(t, soundApplicationRevision, invalidApplicationRevisions)
}

// edgesOfTheApplicationLayer are changes of sound objects that are just allowed, by kind.
func edgesOfTheApplicationLayer() map[string]map[string][]spoil {
	return map[string]map[string][]spoil{
		"Application": {
			"nothing but a component":       {{"spec", object{"components": list{object{"name": "a", "type": "b"}}}}},
			"a name as long as it may be":   {{"metadata.name", long(52)}},
			"a component of a name as long": {{components, list{component(long(52), "type", long(63))}}},
			"names of digits":               {{components, list{component("0", "type", "0")}}},
			"a type with dots":              {{components, list{component("web", "type", "web.v1-a")}}},
			"as many components as there may be": {{components, numbered(50, func(name string) object {
				return component(name, "traits", repeat(50, func(int) any { return object{"type": "labels"} }))
			})}},
			"the same trait twice":                {{components, list{component("web", "traits", list{object{"type": "ingress"}, object{"type": "ingress"}})}}},
			"the same type for two components":    {{components, list{component("a", "type", "worker"), component("b", "type", "worker")}}},
			"empty properties":                    {{components, list{component("web", "properties", object{})}}},
			"a scope of other systems":            {{components, list{component("web", "scopes", object{"healthscopes.core.oam.dev": "default"})}}},
			"no policies, and an order of none":   {{"spec.policies", list{}}, {components, list{component("web", "dependsOn", list{})}}},
			"a plan with nothing in it":           {{plan, object{}}},
			"no plan":                             {{"-" + plan, nil}},
			"only revisions, for an AppRollout":   {{"metadata.annotations", object{"app.oam.dev/rollout-template": "true"}}},
			"properties of every kind, in depth":  {{components, list{component("web", "properties", object{"a": list{nil, true, "b", 1.5, list{list{}}, object{"": object{}}}, "$patch": "x", "a.b/c": ""})}}},
			"a plan of as many batches as may be": {{batches, repeat(100, func(int) any { return batch("0.9%") })}},
		},
		"AppRollout": {
			"a scale":                      {{"-spec.sourceAppRevisionName", nil}, {plan, object{"targetSize": int64(0)}}},
			"a scale by an empty source":   {{"spec.sourceAppRevisionName", ""}, {plan, object{"targetSize": int64(3), "numBatches": int64(2)}}},
			"no components":                {{"-spec.componentList", nil}, {"-spec.revertOnDelete", nil}},
			"no components, in a list":     {{"spec.componentList", list{}}},
			"revisions of long names":      {{"spec.targetAppRevisionName", long(253)}, {"spec.sourceAppRevisionName", long(252)}},
			"a rollout of all at once":     {{plan, object{}}},
			"more than one component":      {{"spec.componentList", list{"web", "jobs", "web"}}},
			"a size besides two revisions": {{plan + ".targetSize", int64(9)}},
		},
		"ComponentDefinition": {
			"nothing but a template":        {{"spec", object{"workload": object{"definition": object{"apiVersion": "v1", "kind": "Pod"}}, "schematic": object{"cue": object{"template": "a"}}}}},
			"a template as long as may be":  {{"spec.schematic.cue.template", long(131072)}},
			"a group with many parts":       {{"spec.workload.definition", object{"apiVersion": "apps.cafe.cloud.alipay.com/v1alpha1", "kind": "CafeDeployment"}}},
			"half of a status":              {{"spec.status", object{"healthPolicy": "isHealth: true"}}},
			"a status of nothing":           {{"spec.status", object{}}},
			"an extension that is anything": {{"spec.extension", object{"a": list{object{"b": nil}}}}},
		},
		"TraitDefinition": {
			"nothing but a template":      {{"spec", object{"schematic": object{"cue": object{"template": "a"}}}}},
			"for workloads of every kind": {{"spec.appliesToWorkloads", list{"*", "*.apps", "deployments.apps", "web-service"}}},
			"what other systems write": {{"spec.manageWorkload", true}, {"spec.skipRevisionAffect", true}, {"spec.revisionEnabled", true},
				{"spec.extension", object{"template": ""}}},
		},
		"ApplicationRevision": {
			"nothing but an application": {{"spec", object{"application": object{"spec": object{"components": list{}}}}}},
			"a highest number":           {{"spec.revision", int64(999999999)}},
		},
	}
}

func TestEdgeCasesOfTheApplicationLayerAreAccepted(t *testing.T) {
	for kind, cases := range edgesOfTheApplicationLayer() {
		for _, sentence := range slices.Sorted(maps.Keys(cases)) {
			t.Run(kind+"/"+sentence, func(t *testing.T) {
				accepted := manifest(t, soundOnes[kind])
				for _, s := range cases[sentence] {
					s.apply(t, accepted)
				}
				if err := untyped.Create(t.Context(), accepted); err != nil {
					t.Errorf("creating: %v", err)
				}
			})
		}
	}
}

// TestOlderMistakesInTheApplicationLayerDoNotStopOtherChanges: an object that came before its rule stays usable.
func TestOlderMistakesInTheApplicationLayerDoNotStopOtherChanges(t *testing.T) {
	for sentence, test := range map[string]struct {
		kind    string
		mistake spoil
		change  spoil
	}{
		"a component's name is too long":    {"Application", spoil{components, list{component(long(60), "type", "worker")}}, spoil{components, list{component(long(60), "type", "webservice")}}},
		"policies that nobody serves":       {"Application", spoil{"spec.policies", list{object{"name": "a"}}}, spoil{"metadata.labels", object{"a": "b"}}},
		"a workflow that nobody serves":     {"Application", spoil{"spec.workflow", object{"steps": list{}}}, spoil{components, list{component("web", "type", "webservice")}}},
		"an order that nobody serves":       {"Application", spoil{components, list{component("web", "dependsOn", list{"jobs"})}}, spoil{components, list{plus(component("web", "dependsOn", list{"jobs"}), "type", "worker")}}},
		"inputs that nobody serves":         {"Application", spoil{components, list{component("web", "inputs", list{object{"from": "jobs"}})}}, spoil{"metadata.labels", object{"a": "b"}}},
		"source and target are the same":    {"AppRollout", spoil{"spec.sourceAppRevisionName", "shop-v2"}, spoil{plan + ".paused", true}},
		"a scale has no size":               {"AppRollout", spoil{"spec.sourceAppRevisionName", ""}, spoil{plan + ".paused", true}},
		"a template is longer than allowed": {"ComponentDefinition", spoil{"spec.schematic.cue.template", long(131073)}, spoil{"spec.status.healthPolicy", "isHealth: false"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := named(t, soundOnes[test.kind], newNamespace(t), "older")
			storeSpoiled(t, set, test.mistake)
			test.change.apply(t, set)
			if err := untyped.Update(t.Context(), set); err != nil {
				t.Errorf("changing something else: %v", err)
			}
		})
	}
}
