// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// onComponents and onRevisions are what is said of what else may change.
var (
	onComponents = strings.ReplaceAll(whatElse, "targetRef or sourceRef", "components")
	onRevisions  = strings.ReplaceAll(whatElse, "targetRef or sourceRef", "targetAppRevisionName, sourceAppRevisionName or componentList")
)

// shopOf are the components of the sound application with another property of the first one.
func shopOf(key string, value any) list {
	properties := object{"image": "web:1", "port": int64(8080), "env": list{object{"name": "A", "value": "b"}}, "weight": 0.5, "debug": false, "note": nil}
	properties[key] = value
	return list{
		object{"name": "web", "type": "webservice", "properties": properties,
			"traits": list{object{"type": "scaler", "properties": object{"replicas": int64(3)}}, object{"type": "expose"}}},
		object{"name": "jobs", "type": "worker"},
	}
}

// shopScale is the plan of a first release.
var shopScale = []spoil{{plan, object{"targetSize": int64(10), "rolloutBatches": list{batch(int64(1)), batch(int64(6))}, "batchPartition": int64(0)}}}

// applicationUpdates are those of an application; the state is that of a rollout that has a source.
var applicationUpdates = map[string]updateCase{
	"a partition grows":                              {nil, inBatches, to(plan+".batchPartition", int64(2)), "", ""},
	"a partition shrinks":                            {nil, inBatches, to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows + "1 and is 0; paused holds it. " + onComponents},
	"a partition shrinks beside the same components": {nil, inBatches, append(to(components, shopOf("image", "web:1")), spoil{plan + ".batchPartition", int64(0)}), plan + ".batchPartition", onlyGrows},
	"a partition shrinks during a revert":            {nil, "rolloutFailing", to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows},
	"a partition shrinks before anything is known":   {nil, "", to(plan+".batchPartition", int64(0)), "", ""},
	"a partition shrinks after success":              {nil, "rolloutSucceed", to(plan+".batchPartition", int64(0)), "", ""},
	"a partition shrinks after a failure":            {nil, "rolloutFailed", to(plan+".batchPartition", int64(0)), "", ""},
	"a batch at the partition":                       {nil, inBatches, to(batches, fours(1, batch("21%"))), batches, keepBegun + ": they may have begun. " + onComponents},
	"a batch behind the partition":                   {nil, inBatches, to(batches, fours(2, batch("5%"))), "", ""},
	"equal batches for those there are":              {nil, inBatches, []spoil{{"-" + batches, nil}, {plan + ".numBatches", int64(2)}}, batches, keepBegun},
	"the strategy":                                   {nil, inBatches, to(plan+".rolloutStrategy", "DecreaseFirst"), plan + ".rolloutStrategy", "and was IncreaseFirst. " + onComponents},
	"the size":                                       {nil, inBatches, to(plan+".targetSize", int64(3)), plan + ".targetSize", keepSize + "absent and is 3"},
	"the size of a first release":                    {shopScale, "first", to(plan+".targetSize", int64(12)), "", ""},
	"the size of a later release":                    {shopScale, inBatches, to(plan+".targetSize", int64(12)), plan + ".targetSize", keepSize + "10 and is 12"},
	"what may change freely":                         {nil, inBatches, released, "", ""},
	"the plan goes":                                  {nil, inBatches, to("-"+plan, nil), plan, "must not be removed while its rollout is in progress"},
	"the plan goes during a deletion":                {nil, "rolloutDeleting", to("-"+plan, nil), plan, "must not be removed while its rollout is in progress"},
	"the plan goes after success":                    {nil, "rolloutSucceed", to("-"+plan, nil), "", ""},
	"the plan goes before anything is known":         {nil, "", to("-"+plan, nil), "", ""},
	"the plan goes with another image":               {nil, inBatches, append(to(components, shopOf("image", "web:2")), spoil{"-" + plan, nil}), "", ""},
	"a plan comes":                                   {to("-"+plan, nil), "rolloutSucceed", to(plan, object{"numBatches": int64(3)}), "", ""},
	"another image":                                  {nil, inBatches, to(components, shopOf("image", "web:2")), "", ""},
	"another image with another plan":                {nil, inBatches, append(slices.Clone(allElse), spoil{components, shopOf("image", "web:2")}), "", ""},
	"another image during a revert, and a partition": {nil, "rolloutFailing", []spoil{{components, shopOf("image", "web:2")}, {plan + ".batchPartition", int64(0)}}, "", ""},
	"a number in depth, and another plan":            {nil, inBatches, append(slices.Clone(allElse), spoil{components, shopOf("env", list{object{"name": "A", "value": "c"}})}), "", ""},
	"a property more, and another plan":              {nil, inBatches, append(slices.Clone(allElse), spoil{components, shopOf("more", "a")}), "", ""},
	"a property in the place of another one": {to(components, list{component("web", "properties", object{"imgae": "web:1"})}), inBatches,
		to(components, list{component("web", "properties", object{"image": "web:1"})}), "", ""},
	// The server takes properties that only have other names for the same ones: the plan has to follow in a second edit.
	"a property in the place of another one, and another plan": {to(components, list{component("web", "properties", object{"imgae": "web:1"})}), inBatches,
		append(slices.Clone(allElse), spoil{components, list{component("web", "properties", object{"image": "web:1"})}}), plan + ".batchPartition", onlyGrows},
	"a component more, and another plan": {nil, inBatches, append(slices.Clone(allElse), spoil{components, append(shopOf("image", "web:1"), object{"name": "more", "type": "worker"})}), "", ""},
	"labels":                             {nil, inBatches, to("metadata.labels", object{"a": "b"}), "", ""},
}

// rolloutUpdates are those of an AppRollout.
var rolloutUpdates = map[string]updateCase{
	"a partition grows":                    {nil, inBatches, to(plan+".batchPartition", int64(2)), "", ""},
	"a partition goes":                     {nil, inBatches, to("-"+plan+".batchPartition", nil), "", ""},
	"a partition shrinks":                  {nil, inBatches, to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows + "1 and is 0; paused holds it. " + onRevisions},
	"a partition shrinks before it began":  {nil, "", to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows},
	"a partition shrinks after success":    {nil, "rolloutSucceed", to(plan+".batchPartition", int64(0)), "", ""},
	"a batch at the partition":             {nil, inBatches, to(batches, fours(1, batch("21%"))), batches, keepBegun + ": they may have begun. " + onRevisions},
	"a batch behind the partition":         {nil, inBatches, to(batches, fours(2, batch("5%"))), "", ""},
	"the number of equal batches":          {[]spoil{{"-" + batches, nil}, {plan + ".numBatches", int64(5)}}, inBatches, to(plan+".numBatches", int64(6)), plan + ".numBatches", keepNum + "5 and is 6. " + onRevisions},
	"the strategy":                         {nil, inBatches, to(plan+".rolloutStrategy", "DecreaseFirst"), plan + ".rolloutStrategy", "and was IncreaseFirst. " + onRevisions},
	"the size":                             {nil, inBatches, to(plan+".targetSize", int64(3)), plan + ".targetSize", keepSize + "absent and is 3. " + onRevisions},
	"the size of a scale":                  {append(slices.Clone(shopScale), spoil{"-spec.sourceAppRevisionName", nil}), inBatches, to(plan+".targetSize", int64(12)), "", ""},
	"the size of a scale by empty source":  {append(slices.Clone(shopScale), spoil{"spec.sourceAppRevisionName", ""}), inBatches, to(plan+".targetSize", int64(12)), "", ""},
	"the size of a scale goes":             {append(slices.Clone(shopScale), spoil{"-spec.sourceAppRevisionName", nil}), inBatches, to("-"+plan+".targetSize", nil), plan + ".targetSize", "must be given without a sourceAppRevisionName"},
	"what may change freely":               {nil, inBatches, append(slices.Clone(released), spoil{"spec.revertOnDelete", false}), "", ""},
	"another target":                       {nil, inBatches, append(slices.Clone(allElse), spoil{"spec.targetAppRevisionName", "shop-v3"}), "", ""},
	"another source":                       {nil, inBatches, append(slices.Clone(allElse), spoil{"spec.sourceAppRevisionName", "shop-v0"}), "", ""},
	"another component":                    {nil, inBatches, append(slices.Clone(allElse), spoil{"spec.componentList", list{"jobs"}}), "", ""},
	"swapped":                              {nil, inBatches, []spoil{{"spec.targetAppRevisionName", "shop-v1"}, {"spec.sourceAppRevisionName", "shop-v2"}, {plan + ".batchPartition", int64(0)}}, "", ""},
	"no components as before, in a list":   {to("-spec.componentList", nil), inBatches, []spoil{{"spec.componentList", list{}}, {plan + ".rolloutStrategy", "DecreaseFirst"}}, plan + ".rolloutStrategy", "and was IncreaseFirst"},
	"a scale of a rollout that has ended":  {nil, "rolloutSucceed", append(slices.Clone(shopScale), spoil{"-spec.sourceAppRevisionName", nil}), "", ""},
	"a source that was empty comes":        {append(slices.Clone(shopScale), spoil{"-spec.sourceAppRevisionName", nil}), inBatches, append(slices.Clone(allElse), spoil{"spec.sourceAppRevisionName", "shop-v1"}), "", ""},
	"source and target become the same":    {nil, inBatches, to("spec.sourceAppRevisionName", "shop-v2"), "spec.sourceAppRevisionName", "must be another revision than targetAppRevisionName"},
	"labels":                               {nil, inBatches, to("metadata.labels", object{"a": "b"}), "", ""},
	"a plan that is wrong in another way":  {nil, inBatches, to(batches, fours(2, batch("70%"))), batches, leave + "100%"},
	"a partition shrinks while it reverts": {nil, "rolloutFailing", to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows},
}

func TestWhatMayChangeInARolloutOfRevisions(t *testing.T) {
	namespace := newNamespace(t)
	for i, sentence := range slices.Sorted(maps.Keys(rolloutUpdates)) {
		t.Run(sentence, func(t *testing.T) {
			checkUpdate(t, named(t, soundAppRollout, namespace, fmt.Sprint("update-", i)), rolloutUpdates[sentence])
		})
	}
}

func TestWhatMayChangeInAnApplication(t *testing.T) {
	namespace := newNamespace(t)
	for i, sentence := range slices.Sorted(maps.Keys(applicationUpdates)) {
		test := applicationUpdates[sentence]
		t.Run(sentence, func(t *testing.T) {
			app := named(t, soundApplication, namespace, fmt.Sprint("update-", i))
			for _, s := range test.before {
				s.apply(t, app)
			}
			if err := untyped.Create(t.Context(), app); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if test.state != "" {
				rollout := object{"rollingState": test.state, "batchRollingState": "", "currentBatch": int64(0), "upgradedReplicas": int64(0),
					"upgradedReadyReplicas": int64(0), "lastTargetAppRevision": "shop-v2", "LastSourceAppRevision": "shop-v1"}
				if test.state == "first" {
					rollout["rollingState"] = inBatches
					delete(rollout, "LastSourceAppRevision")
				}
				report(t, app, object{"rollout": rollout})
			}
			for _, s := range test.change {
				s.apply(t, app)
			}
			err := untyped.Update(t.Context(), app)
			if test.field == "" {
				if err != nil {
					t.Errorf("updating: %v", err)
				}
				return
			}
			if !apierrors.IsInvalid(err) {
				t.Fatalf("got error %v, want the status Invalid", err)
			}
			checkCauses(t, err, test.field, test.rule)
		})
	}
}
