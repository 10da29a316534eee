// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// updateCase changes a sound RolloutTrait that is in a state.
type updateCase struct {
	// before brings the object into shape, and state is its rollingState; an empty one is a rollout that nobody has looked at.
	before []spoil
	state  string
	change []spoil
	// field and rule are what the refusal names; both are empty for a change that is allowed.
	field, rule string
}

const (
	inBatches = "rollingInBatches"
	whatElse  = "Until it has ended, what may change is batchPartition (it may grow or be removed), rolloutBatches after batchPartition, paused, " +
		"revertOnDelete, rolloutWebhooks, canaryMetric, progressDeadlineSeconds, failurePolicy and the targetSize of a scale; " +
		"with another targetRef or sourceRef all may change"
	onlyGrows = "may only grow or be removed while the rollout is in progress, and was "
	keepBegun = "must keep the batches up to batchPartition, which was 1, with their replicas, maxUnavailable and instanceInterval, and a batch behind them"
	keepAll   = "must keep all batches with their replicas, maxUnavailable and instanceInterval: no batchPartition held one back"
	keepNum   = "must not change while the rollout is in progress, because equal batches that may have begun would change with it; it was "
	keepSize  = "must not change while the rollout is in progress, unless it is a scale and stays one; it was "
)

// four are batches, all but the last with a number of their own.
func four() list { return list{batch("10%"), batch("20%"), batch("30%"), object{}} }

// fours are four batches with one of them changed.
func fours(i int, changed object) list {
	all := four()
	all[i] = changed
	return all
}

func to(path string, value any) []spoil { return []spoil{{path, value}} }

var (
	// The plans that updates begin with; the sound one has four batches and batchPartition 1.
	held     = []spoil{{batches, four()}}
	open     = []spoil{{batches, four()}, {"-" + plan + ".batchPartition", nil}}
	equal    = []spoil{{"-" + batches, nil}, {plan + ".numBatches", int64(5)}}
	aScale   = []spoil{{"-spec.sourceRef", nil}, {plan, object{"targetSize": int64(10), "rolloutBatches": list{batch(int64(1)), batch(int64(6))}, "batchPartition": int64(0)}}}
	sized    = []spoil{{plan + ".targetSize", int64(10)}}
	inPlace  = []spoil{{"-spec.sourceRef", nil}}
	allElse  = []spoil{{plan, object{"rolloutStrategy": "DecreaseFirst", "targetSize": int64(3), "numBatches": int64(2), "batchPartition": int64(0)}}}
	released = []spoil{{plan + ".paused", true}, {plan + ".revertOnDelete", true}, {plan + ".progressDeadlineSeconds", int64(7)}, {plan + ".failurePolicy", "Revert"},
		{hooks, list{hook("finalize-rollout", "other")}}, {metrics, list{metric("other")}}}
)

var partitionUpdates = map[string]updateCase{
	"a partition grows":                          {held, inBatches, to(plan+".batchPartition", int64(2)), "", ""},
	"a partition goes":                           {held, inBatches, to("-"+plan+".batchPartition", nil), "", ""},
	"a partition stays away":                     {open, inBatches, to(plan+".paused", true), "", ""},
	"a partition shrinks":                        {held, inBatches, to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows + "1 and is 0; paused holds it. " + whatElse},
	"a partition shrinks before anything began":  {held, "", to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows + "1 and is 0"},
	"a partition shrinks while it is located":    {held, "locatingTargetApp", to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows + "1 and is 0"},
	"a partition shrinks during a revert":        {held, "rolloutFailing", to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows + "1 and is 0"},
	"a partition comes":                          {open, inBatches, to(plan+".batchPartition", int64(3)), plan + ".batchPartition", onlyGrows + "absent, which means all, and is 3"},
	"a partition shrinks with others that may":   {held, inBatches, append(to(plan+".batchPartition", int64(0)), released...), plan + ".batchPartition", onlyGrows},
	"a partition shrinks after success":          {held, "rolloutSucceed", to(plan+".batchPartition", int64(0)), "", ""},
	"a partition comes after a failure":          {open, "rolloutFailed", to(plan+".batchPartition", int64(1)), "", ""},
	"a partition shrinks for another target":     {held, inBatches, append(to(plan+".batchPartition", int64(0)), spoil{"spec.targetRef.name", "web-v3"}), "", ""},
	"a partition shrinks for another scale":      {aScale, inBatches, append(to(plan+".numBatches", int64(2)), spoil{plan + ".targetSize", int64(9)}), "", ""},
	"a partition of equal batches grows":         {equal, inBatches, to(plan+".batchPartition", int64(2)), "", ""},
	"a partition of equal batches shrinks":       {equal, inBatches, to(plan+".batchPartition", int64(0)), plan + ".batchPartition", onlyGrows + "1 and is 0"},
	"a partition grows together with what it is": {held, inBatches, []spoil{{plan + ".batchPartition", int64(3)}, {batches, fours(2, batch("5%"))}}, "", ""},
}

var batchUpdates = map[string]updateCase{
	"a batch behind the partition":                       {held, inBatches, to(batches, fours(2, batch("5%"))), "", ""},
	"the last batch gets a number":                       {held, inBatches, to(batches, fours(3, batch(int64(4)))), "", ""},
	"all batches go, in an empty list":                   {held, inBatches, to(batches, list{}), batches, keepBegun},
	"more batches behind the partition":                  {held, inBatches, to(batches, list{batch("10%"), batch("20%"), batch("1%"), batch("1%"), batch("1%"), object{}}), "", ""},
	"one batch behind the partition is enough":           {held, inBatches, to(batches, list{batch("10%"), batch("20%"), object{}}), "", ""},
	"the same in so many words":                          {held, inBatches, []spoil{{batches, fours(0, object{"replicas": "10%", "maxUnavailable": int64(0), "instanceInterval": int64(0)})}, {plan + ".numBatches", int64(4)}}, "", ""},
	"the batch at the partition":                         {held, inBatches, to(batches, fours(1, batch("21%"))), batches, keepBegun + ": they may have begun. " + whatElse},
	"the first batch":                                    {held, inBatches, to(batches, fours(0, batch(int64(1)))), batches, keepBegun},
	"the first batch becomes a number in quotes":         {[]spoil{{batches, list{batch(int64(1)), batch(int64(2)), object{}}}}, inBatches, to(batches, list{batch("1%"), batch(int64(2)), object{}}), batches, keepBegun},
	"the first batch may be less available":              {held, inBatches, to(batches, fours(0, object{"replicas": "10%", "maxUnavailable": "5%"})), batches, keepBegun},
	"the first batch gets slower":                        {held, inBatches, to(batches, fours(0, object{"replicas": "10%", "instanceInterval": int64(9)})), batches, keepBegun},
	"a batch goes in front":                              {held, inBatches, to(batches, append(list{batch("1%")}, four()...)), batches, keepBegun},
	"the batch at the partition becomes the last one":    {held, inBatches, to(batches, list{batch("10%"), batch("20%")}), batches, keepBegun},
	"the batch at the partition goes":                    {held, inBatches, to(batches, list{batch("10%")}), batches, keepBegun},
	"all batches go":                                     {held, inBatches, to("-"+batches, nil), batches, keepBegun},
	"all batches go for equal ones":                      {held, inBatches, []spoil{{"-" + batches, nil}, {plan + ".numBatches", int64(4)}}, batches, keepBegun},
	"batches come for equal ones":                        {equal, inBatches, []spoil{{"-" + plan + ".numBatches", nil}, {batches, four()}}, batches, keepAll},
	"the batch at the new partition, with it":            {held, inBatches, []spoil{{plan + ".batchPartition", int64(2)}, {batches, fours(1, batch("21%"))}}, batches, keepBegun},
	"the last batch without a partition":                 {open, inBatches, to(batches, fours(3, batch(int64(4)))), batches, keepAll + ", so all may have begun. " + whatElse},
	"one more batch without a partition":                 {open, inBatches, to(batches, append(fours(3, batch("1%")), object{})), batches, keepAll},
	"the last batch at the last partition":               {append(slices.Clone(held), spoil{plan + ".batchPartition", int64(3)}), inBatches, to(batches, fours(3, batch(int64(4)))), batches, keepAll},
	"one more batch beyond a partition beyond them":      {append(slices.Clone(held), spoil{plan + ".batchPartition", int64(9)}), inBatches, to(batches, append(four()[:3:3], batch("1%"), object{})), batches, keepAll},
	"the same batches without a partition":               {open, inBatches, []spoil{{batches, four()}, {plan + ".numBatches", int64(4)}}, "", ""},
	"a batch before anything began":                      {held, "", to(batches, fours(0, batch("1%"))), batches, keepBegun},
	"a batch behind the partition before anything began": {held, "", to(batches, fours(2, batch("1%"))), "", ""},
	"a batch after success":                              {held, "rolloutSucceed", to(batches, fours(0, batch("1%"))), "", ""},
	"a batch after a failure":                            {open, "rolloutFailed", to(batches, fours(0, batch("1%"))), "", ""},
	"a batch for another target":                         {open, inBatches, []spoil{{batches, fours(0, batch("1%"))}, {"spec.targetRef.name", "web-v3"}}, "", ""},
	"a batch for another target and back again":          {open, "rolloutAbandoning", []spoil{{batches, fours(0, batch("1%"))}, {"spec.targetRef.name", "web-v1"}, {"spec.sourceRef", list{reference("Deployment", "web-v2")}}}, "", ""},
	"hooks and metrics of a batch that may have begun":   {open, inBatches, to(batches, fours(0, object{"replicas": "10%", "batchRolloutWebhooks": list{hook("pre-batch-rollout", "a")}, "canaryMetric": list{metric("a")}})), "", ""},
	"the number of equal batches":                        {equal, inBatches, to(plan+".numBatches", int64(6)), plan + ".numBatches", keepNum + "5 and is 6. " + whatElse},
	"the number of equal batches goes":                   {equal, inBatches, to("-"+plan+".numBatches", nil), plan + ".numBatches", keepNum + "5 and is 1"},
	"the number of one batch comes":                      {to("-"+batches, nil), inBatches, to(plan+".numBatches", int64(1)), "", ""},
	"the number of more batches comes":                   {to("-"+batches, nil), inBatches, to(plan+".numBatches", int64(2)), plan + ".numBatches", keepNum + "1 and is 2"},
	"an empty list of batches comes for equal ones":      {equal, inBatches, to(batches, list{}), "", ""},
	"the number of equal batches after success":          {equal, "rolloutSucceed", to(plan+".numBatches", int64(6)), "", ""},
	"the number grows with the batches":                  {append(slices.Clone(held), spoil{plan + ".numBatches", int64(4)}), inBatches, []spoil{{plan + ".numBatches", int64(5)}, {batches, append(fours(3, batch("1%")), object{})}}, "", ""},
	"the number must follow the batches":                 {append(slices.Clone(held), spoil{plan + ".numBatches", int64(4)}), inBatches, to(batches, append(fours(3, batch("1%")), object{})), plan + ".numBatches", "must be left out, or be the number of rolloutBatches, which is 5, and is 4"},
	"a batch that is wrong by itself":                    {held, inBatches, to(batches, fours(2, batch("5"))), batches + "[2].replicas", amount},
	"batches behind the partition that leave nothing":    {held, inBatches, to(batches, fours(2, batch("70%"))), batches, leave + "100%"},
}

var otherUpdates = map[string]updateCase{
	"what may change freely":                     {nil, inBatches, released, "", ""},
	"what may change freely before it began":     {nil, "", released, "", ""},
	"what may change freely in a deletion":       {nil, "rolloutDeleting", released, "", ""},
	"the strategy":                               {nil, inBatches, to(plan+".rolloutStrategy", "DecreaseFirst"), plan + ".rolloutStrategy", "must not change while the rollout is in progress, and was IncreaseFirst. " + whatElse},
	"the strategy before anything began":         {nil, "", to(plan+".rolloutStrategy", "DecreaseFirst"), plan + ".rolloutStrategy", "and was IncreaseFirst"},
	"the strategy by default":                    {to(plan+".rolloutStrategy", "DecreaseFirst"), inBatches, to("-"+plan+".rolloutStrategy", nil), plan + ".rolloutStrategy", "and was DecreaseFirst"},
	"the strategy as it was":                     {nil, inBatches, to("-"+plan+".rolloutStrategy", nil), "", ""},
	"the strategy after success":                 {nil, "rolloutSucceed", to(plan+".rolloutStrategy", "DecreaseFirst"), "", ""},
	"the size of a scale":                        {aScale, inBatches, []spoil{{plan + ".targetSize", int64(12)}, {batches, list{batch(int64(1)), batch(int64(8))}}}, "", ""},
	"the size of a scale before it began":        {aScale, "", to(plan+".targetSize", int64(0)), "", ""},
	"the size of a scale goes":                   {aScale, inBatches, to("-"+plan+".targetSize", nil), plan + ".targetSize", keepSize + "10 and is absent. " + whatElse},
	"the size of a rollout of two":               {sized, inBatches, to(plan+".targetSize", int64(12)), plan + ".targetSize", keepSize + "10 and is 12"},
	"the size of a rollout of two comes":         {nil, inBatches, to(plan+".targetSize", int64(12)), plan + ".targetSize", keepSize + "absent and is 12"},
	"the size of a rollout of two after it":      {sized, "rolloutSucceed", to(plan+".targetSize", int64(12)), "", ""},
	"a size makes a scale of a rollout in place": {inPlace, inBatches, to(plan+".targetSize", int64(12)), plan + ".targetSize", keepSize + "absent and is 12"},
	"a size makes a scale after a rollout":       {inPlace, "rolloutSucceed", to(plan+".targetSize", int64(12)), "", ""},
	"a size makes a scale after a failure":       {inPlace, "rolloutFailed", append(slices.Clone(allElse), spoil{plan + ".targetSize", int64(12)}), "", ""},
	"another target":                             {nil, inBatches, append(slices.Clone(allElse), spoil{"spec.targetRef.name", "web-v3"}), "", ""},
	"another kind":                               {nil, inBatches, append(slices.Clone(allElse), spoil{"spec.targetRef", reference("ReplicaSet", "web-v2")}, spoil{"spec.sourceRef", list{reference("ReplicaSet", "web-v1")}}), "", ""},
	"another source":                             {nil, inBatches, append(slices.Clone(allElse), spoil{"spec.sourceRef", list{reference("Deployment", "web-v0")}}), "", ""},
	"no source":                                  {nil, inBatches, append(slices.Clone(allElse), spoil{"-spec.sourceRef", nil}), "", ""},
	"no source as before, in an empty list":      {inPlace, inBatches, []spoil{{"spec.sourceRef", list{}}, {plan + ".rolloutStrategy", "DecreaseFirst"}}, plan + ".rolloutStrategy", "and was IncreaseFirst"},
	"swapped":                                    {nil, inBatches, []spoil{{"spec.targetRef.name", "web-v1"}, {"spec.sourceRef", list{reference("Deployment", "web-v2")}}, {plan + ".batchPartition", int64(0)}}, "", ""},
	"labels":                                     {nil, inBatches, to("metadata.labels", object{"a": "b"}), "", ""},
}

func TestWhatMayChangeInARolloutTrait(t *testing.T) {
	namespace := newNamespace(t)
	number := 0
	for name, cases := range map[string]map[string]updateCase{"partition": partitionUpdates, "batches": batchUpdates, "other": otherUpdates} {
		for _, sentence := range slices.Sorted(maps.Keys(cases)) {
			test := cases[sentence]
			number++
			trait := named(t, soundRolloutTrait, namespace, strings.ToLower(name)+"-"+string(rune('a'+number/26))+string(rune('a'+number%26)))
			t.Run(name+"/"+sentence, func(t *testing.T) { checkUpdate(t, trait, test) })
		}
	}
}

func checkUpdate(t *testing.T, trait *unstructured.Unstructured, test updateCase) {
	t.Helper()
	for _, s := range test.before {
		s.apply(t, trait)
	}
	if err := untyped.Create(t.Context(), trait); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if test.state != "" {
		report(t, trait, object{"rollingState": test.state})
	}
	for _, s := range test.change {
		s.apply(t, trait)
	}
	err := untyped.Update(t.Context(), trait)
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
}

// report patches the status.
func report(t *testing.T, trait *unstructured.Unstructured, status object) {
	t.Helper()
	patch, err := json.Marshal(object{"status": status})
	if err != nil {
		t.Fatalf("writing a patch: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), trait, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatalf("reporting the status: %v", err)
	}
}
