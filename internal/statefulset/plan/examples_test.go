// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/intstr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// example is one pass over a small world. No wish means that nothing is done; held is what is said of it then.
type example struct {
	parallel bool
	replicas int32
	set      func(*builders.StatefulSetBuilder)
	pods     string
	want     []string
	held     string
}

const ordered, parallel = false, true

func start(n int32) func(*builders.StatefulSetBuilder) {
	return func(b *builders.StatefulSetBuilder) {
		b.With(func(s *kruisev1beta1.StatefulSet) { s.Spec.Ordinals = &kruisev1beta1.StatefulSetOrdinals{Start: n} })
	}
}

func reserve(ordinals ...int32) func(*builders.StatefulSetBuilder) {
	return func(b *builders.StatefulSetBuilder) {
		b.With(func(s *kruisev1beta1.StatefulSet) {
			for _, n := range ordinals {
				s.Spec.ReserveOrdinals = append(s.Spec.ReserveOrdinals, intstr.FromInt32(n))
			}
		})
	}
}

func partition(n int32) func(*builders.StatefulSetBuilder) {
	return func(b *builders.StatefulSetBuilder) { b.Partition(n) }
}

func unavailable(n string) func(*builders.StatefulSetBuilder) {
	return func(b *builders.StatefulSetBuilder) { b.MaxUnavailable(n) }
}

func scaleCap(n string) func(*builders.StatefulSetBuilder) {
	return func(b *builders.StatefulSetBuilder) { b.ScaleMaxUnavailable(n) }
}

func unordered(b *builders.StatefulSetBuilder) {
	b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
		r.UnorderedUpdate = &kruisev1beta1.UnorderedUpdateStrategy{}
	})
}

func paused(b *builders.StatefulSetBuilder) {
	b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.Paused = true })
}

func onDelete(b *builders.StatefulSetBuilder) {
	b.With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.UpdateStrategy.Type = kruisev1beta1.OnDeleteStatefulSetStrategyType
	})
}

func all(settings ...func(*builders.StatefulSetBuilder)) func(*builders.StatefulSetBuilder) {
	return func(b *builders.StatefulSetBuilder) {
		for _, set := range settings {
			set(b)
		}
	}
}

var examples = map[string]example{
	"01 ordered pods are created one at a time":               {ordered, 3, nil, "", []string{"create 0@u"}, ""},
	"02 the next one when the one before is available":        {ordered, 3, nil, "0uA", []string{"create 1@u"}, ""},
	"03 a predecessor has to be available":                    {ordered, 3, nil, "0uu", nil, "pod web-0 is not available: container app is not ready"},
	"04 parallel pods are created all at once":                {parallel, 3, nil, "", []string{"create 0@u", "create 1@u", "create 2@u"}, ""},
	"05 ordinals begin where they are told to":                {ordered, 3, start(2), "", []string{"create 2@u"}, ""},
	"06 reserved ordinals are skipped and not counted":        {parallel, 4, reserve(1, 3), "", []string{"create 0@u", "create 2@u", "create 4@u", "create 5@u"}, ""},
	"07 a pod moves away from an ordinal that is reserved":    {parallel, 3, reserve(1), "0uA 1uA 2uA", []string{"delete 1 (scale-in)", "create 3@u"}, ""},
	"08 reserving with fewer replicas drops exactly that pod": {parallel, 2, reserve(1), "0uA 1uA 2uA", []string{"delete 1 (scale-in)"}, ""},
	"09 the same where pods are ordered":                      {ordered, 2, reserve(1), "0uA 1uA 2uA", []string{"delete 1 (scale-in)"}, ""},
	"10 with a higher start, pods are created first":          {ordered, 3, start(4), "2uA 3uA 4uA", []string{"create 5@u"}, ""},
	"11 the highest position is updated first":                {ordered, 3, nil, "0cA 1cA 2cA", []string{"update 2"}, "the update waits: 1 of 3 positions are unavailable, and maxUnavailable allows 1"},
	"12 an updated pod has to be available before the next":   {ordered, 3, nil, "0cA 1cA 2uu", nil, "pod web-2 is not available: container app is not ready"},
	"13 then the next one below is updated":                   {ordered, 3, nil, "0cA 1cA 2uA", []string{"update 1"}, "the update waits: 1 of 3 positions are unavailable, and maxUnavailable allows 1"},
	"14 positions below the partition are kept":               {ordered, 3, partition(2), "0cA 1cA 2cA", []string{"update 2"}, ""},
	"15 a reached partition is the end":                       {ordered, 3, partition(2), "0cA 1cA 2uA", nil, ""},
	"16 a partition above the replicas keeps all":             {ordered, 3, partition(5), "0cA 1cA 2cA", nil, ""},
	"17 below the partition the current revision is created":  {ordered, 3, partition(2), "1cA 2uA", []string{"create 0@c"}, ""},
	"18 from the partition on the update revision is created": {ordered, 3, partition(2), "0cA 1cA", []string{"create 2@u"}, ""},
	"19 the partition counts positions and not ordinals":      {parallel, 4, all(reserve(1, 3), partition(2), unavailable("2")), "0cA 2cA 4cA 5cA", []string{"update 5", "update 4"}, ""},
	"20 so that a higher one leaves one position":             {parallel, 4, all(reserve(1, 3), partition(3), unavailable("2")), "0cA 2cA 4cA 5cA", []string{"update 5"}, ""},
	"21 a percentage of unavailable pods rounds down":         {parallel, 10, unavailable("25%"), many(10, "cA"), []string{"update 9", "update 8"}, "the update waits: 2 of 10 positions are unavailable, and maxUnavailable allows 2"},
	"22 but never to nothing":                                 {parallel, 10, unavailable("5%"), many(10, "cA"), []string{"update 9"}, "the update waits: 1 of 10 positions are unavailable, and maxUnavailable allows 1"},
	"23 an old pod that is down goes before all others":       {parallel, 5, unavailable("1"), "0cA 1cu 2cA 3cA 4cA", []string{"update 1"}, "the update waits: 1 of 5 positions are unavailable, and maxUnavailable allows 1"},
	"24 old pods that are down cost nothing":                  {parallel, 5, unavailable("1"), "0cu 1cu 2cu 3cA 4cA", []string{"update 2", "update 1", "update 0"}, "the update waits: 3 of 5 positions are unavailable, and maxUnavailable allows 1"},
	"25 what they leave of the allowance is spent":            {parallel, 5, unavailable("2"), "0cA 1cu 2cA 3cA 4cA", []string{"update 1", "update 4"}, "the update waits: 2 of 5 positions are unavailable, and maxUnavailable allows 2"},
	"26 broken pods of an older template are replaced":        {ordered, 3, nil, "0cA 1xu 2xu", []string{"update 2"}, ""},
	"27 without waiting for those on the newest revision":     {ordered, 3, nil, "0cA 1xu 2uu", []string{"update 1"}, ""},
	"28 but one termination at a time":                        {ordered, 3, nil, "0cA 1xu 2xT", nil, "pod web-1 is broken on an older revision and is replaced when pod web-2 is gone"},
	"29 also the first pod of the very first revision":        {ordered, 3, nil, "0xu", []string{"update 0"}, ""},
	"30 a broken pod below the partition is kept":             {ordered, 3, partition(3), "0xu", nil, "pod web-0 is not available: container app is not ready"},
	"31 and so is every one while paused":                     {ordered, 3, paused, "0cA 1cA 2xu", nil, "pod web-2 is not available: container app is not ready"},
	"32 unordered without priorities goes from the top":       {parallel, 5, all(unordered, partition(3), unavailable("2")), "0cA 1cA 2cA 3cA 4cA", []string{"update 4", "update 3"}, ""},
	"33 unordered counts a pod that is updated already":       {parallel, 5, all(unordered, partition(3), unavailable("2")), "0cA 1uA 2cA 3cA 4cA", []string{"update 4"}, ""},
	"34 unordered creates updated pods when enough are kept":  {parallel, 5, all(unordered, partition(3), unavailable("2")), "0cA 1uA 2cA 4cA", []string{"create 3@u"}, ""},
	"35 and others as long as too few are kept":               {parallel, 5, all(unordered, partition(3), unavailable("2")), "0cA 1uA 2uA 4cA", []string{"create 3@c"}, ""},
	"36 creations are throttled by the scale strategy":        {parallel, 10, scaleCap("2"), "0uA 1uA 2uA", []string{"create 3@u", "create 4@u", "5 creations throttled"}, "5 pods more are missing than scaleStrategy.maxUnavailable lets be created now"},
	"37 pods that are not available use it up":                {parallel, 10, scaleCap("2"), "0uA 1uA 2uA 3uu", []string{"create 4@u", "5 creations throttled"}, "5 pods more are missing than scaleStrategy.maxUnavailable lets be created now"},
	"38 a percentage of it rounds down":                       {parallel, 10, scaleCap("20%"), "0uA 1uA 2uA 3uu 4uu", []string{"5 creations throttled"}, "5 pods more are missing than scaleStrategy.maxUnavailable lets be created now"},
	"39 a failed pod is deleted whatever the limit":           {parallel, 3, scaleCap("1"), "0uA 1uF 2uA", []string{"delete 1 (failed)"}, ""},
	"40 a failed pod is deleted where pods are ordered":       {ordered, 3, nil, "0uA 1uF 2uA", []string{"delete 1 (failed)"}, ""},
	"41 chosen pods go as long as the allowance lasts":        {parallel, 5, unavailable("3"), "0uA 1uu 2uu 3uA* 4uA*", []string{"delete 4 (specified)"}, "pod web-3 is chosen for deletion and waits: 3 of 5 positions are unavailable, and maxUnavailable allows 3"},
	"42 the lowest broken pod may be scaled in":               {ordered, 1, nil, "0uA 1uA 2uu", []string{"delete 2 (scale-in)"}, ""},
	"43 one above it waits":                                   {ordered, 1, nil, "0uA 1uu 2uu", nil, "scaling in waits: pod web-2 is not available, and neither is pod web-1 below it, which it may need; it goes on when one of them is available or somebody deletes it"},
	"44 live pods have to be available before scaling in":     {ordered, 1, nil, "0uu 1uA 2uA", nil, "pod web-0 is not available: container app is not ready"},
	"45 parallel pods are scaled in all at once":              {parallel, 1, nil, "0uu 1uA 2uA", []string{"delete 2 (scale-in)", "delete 1 (scale-in)"}, ""},
	"46 OnDelete updates nothing":                             {ordered, 3, onDelete, "0cA 1cA 2cA", nil, "3 pods are updated when somebody deletes them (updateStrategy.type is OnDelete)"},
	"47 OnDelete creates at the update revision":              {ordered, 3, onDelete, "0cA 1cA", []string{"create 2@u"}, ""},
}

func many(n int, each string) string {
	var pods []string
	for i := range n {
		pods = append(pods, fmt.Sprint(i)+each)
	}
	return strings.Join(pods, " ")
}

func (e example) scene(policy kruisev1beta1.PodUpdateStrategyType) *scene {
	b := builders.StatefulSet("web").Replicas(e.replicas)
	if e.parallel {
		b.Parallel()
	}
	if policy != "" {
		b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.PodUpdatePolicy = policy })
	}
	if e.set != nil {
		e.set(b)
	}
	return sceneOf(b).pods(e.pods)
}

// Each example holds for pods that are recreated and for pods that are updated in place, and with the rollingUpdate block
// or without.
func TestExamples(t *testing.T) {
	if len(examples) != 47 {
		t.Fatalf("%d examples", len(examples))
	}
	for sentence, e := range examples {
		for _, policy := range []kruisev1beta1.PodUpdateStrategyType{
			"", kruisev1beta1.RecreatePodUpdateStrategyType, kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType, kruisev1beta1.InPlaceOnlyPodUpdateStrategyType,
		} {
			t.Run(sentence+", "+string(policy), func(t *testing.T) {
				s := e.scene(policy)
				got := plan.Next(s.world, now)
				if diff := cmp.Diff(e.want, s.told(got), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("steps (-want +got):\n%s", diff)
				}
				if got.Held != e.held {
					t.Errorf("held %q, want %q", got.Held, e.held)
				}
				if got.Invalid != nil || len(got.Refused)+len(got.RefusedClaims)+len(got.Warned) > 0 {
					t.Errorf("invalid %v, refused %q %q, warned %q", got.Invalid, got.Refused, got.RefusedClaims, got.Warned)
				}
				for _, each := range got.Steps {
					if each.Why() == "" {
						t.Errorf("%s has no reason", s.tellStep(each))
					}
					_, inPlace := each.(step.UpdateInPlace)
					if asked := policy == kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType || policy == kruisev1beta1.InPlaceOnlyPodUpdateStrategyType; inPlace && !asked {
						t.Errorf("%s is in place", s.tellStep(each))
					}
				}
				if again := plan.Next(s.world, now); !cmp.Equal(got.Steps, again.Steps) || got.Held != again.Held {
					t.Error("the same world led to another plan")
				}
			})
		}
	}
}
