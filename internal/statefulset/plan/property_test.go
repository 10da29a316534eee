// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// anySet is a set of any kind that users make.
func anySet(t *rapid.T) *kruisev1beta1.StatefulSet {
	b := builders.StatefulSet("web").Replicas(int32(rapid.IntRange(0, 5).Draw(t, "replicas")))
	if rapid.Bool().Draw(t, "parallel") {
		b.Parallel()
		b.MaxUnavailable(rapid.SampledFrom([]string{"1", "2", "50%"}).Draw(t, "U"))
		if rapid.Bool().Draw(t, "capped") {
			b.ScaleMaxUnavailable(rapid.SampledFrom([]string{"1", "2", "40%"}).Draw(t, "C"))
		}
		if rapid.IntRange(0, 2).Draw(t, "unordered") == 0 {
			unordered(b)
		}
	}
	b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
		r.PodUpdatePolicy = rapid.SampledFrom([]kruisev1beta1.PodUpdateStrategyType{
			"", kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType, kruisev1beta1.InPlaceOnlyPodUpdateStrategyType,
		}).Draw(t, "policy")
		r.MinReadySeconds = ptr.To(rapid.SampledFrom([]int32{0, 0, 5}).Draw(t, "minReadySeconds"))
		r.Partition = ptr.To(rapid.SampledFrom([]int32{0, 0, 1, 3}).Draw(t, "P"))
	})
	if rapid.Bool().Draw(t, "claims") {
		b.Claim("data", "1Gi")
	}
	start(int32(rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "start")))(b)
	return b.Build()
}

// disturb is something that users or nodes do.
func disturb(t *rapid.T, s *stage) {
	set := s.world.Set.DeepCopy()
	r := set.Spec.UpdateStrategy.RollingUpdate
	s.world.Set = set
	member := func() *corev1.Pod {
		if len(s.world.Pods) == 0 {
			return nil
		}
		return rapid.SampledFrom(s.world.Pods).Draw(t, "pod")
	}
	switch act := rapid.SampledFrom([]string{"release", "release", "scale", "partition", "pause", "OnDelete", "reserve", "start", "delete", "choose", "fail", "wait"}).Draw(t, "act"); act {
	case "release":
		s.template(image(rapid.IntRange(1, 4).Draw(t, "version"), rapid.Bool().Draw(t, "good")))
	case "scale":
		set.Spec.Replicas = ptr.To(int32(rapid.IntRange(0, 5).Draw(t, "replicas")))
	case "partition":
		r.Partition = ptr.To(int32(rapid.IntRange(0, 5).Draw(t, "P")))
	case "pause":
		r.Paused = !r.Paused
	case "OnDelete":
		if set.Spec.UpdateStrategy.Type == kruisev1beta1.OnDeleteStatefulSetStrategyType {
			set.Spec.UpdateStrategy.Type = ""
		} else {
			set.Spec.UpdateStrategy.Type = kruisev1beta1.OnDeleteStatefulSetStrategyType
		}
	case "reserve":
		set.Spec.ReserveOrdinals = []intstr.IntOrString{intstr.FromInt32(int32(rapid.IntRange(0, 6).Draw(t, "reserved")))}
	case "start":
		set.Spec.Ordinals = &kruisev1beta1.StatefulSetOrdinals{Start: int32(rapid.IntRange(0, 3).Draw(t, "start"))}
	case "delete":
		if p := member(); p != nil && !pod.IsTerminating(p) {
			s.take(step.DeletePod{Target: step.On(p)})
		}
	case "choose":
		if p := member(); p != nil && !pod.IsTerminating(p) {
			s.take(step.PatchPod{Target: step.On(p), Patch: step.Patch{Labels: map[string]*string{kruisev1alpha1.LabelSpecifiedDelete: ptr.To("")}}})
		}
	case "fail":
		if p := member(); p != nil && !pod.IsTerminating(p) {
			s.modify(step.On(p), func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"} })
		}
	case "wait":
		s.nodes(10 * time.Second)
	}
}

// rules are what every plan keeps, whatever the world.
type rules struct {
	*rapid.T
	world plan.World
	next  plan.Plan
	live  []int
	at    map[int]plan.Member // by ordinal
}

func check(t *rapid.T, s *stage) {
	next := plan.Next(s.world, s.now)
	if again := plan.Next(s.world, s.now); !cmp.Equal(next.Steps, again.Steps) || next.Held != again.Held || next.LookAgain != again.LookAgain {
		t.Errorf("the same world led to two plans")
	}
	r := rules{T: t, world: s.world, next: next, at: map[int]plan.Member{}}
	reserved := map[int]bool{}
	for _, each := range s.world.Set.Spec.ReserveOrdinals {
		reserved[each.IntValue()] = true
	}
	for n := startOf(s.world.Set); len(r.live) < next.Limits.Replicas; n++ {
		if !reserved[n] {
			r.live = append(r.live, n)
		}
	}
	for _, m := range next.Members {
		r.at[m.Ordinal] = m
	}
	r.names()
	r.brokenOnesAreReplaced()
	r.order()
	r.allowance()
	r.creations()
	r.partition()
}

func startOf(set *kruisev1beta1.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
}

func (r rules) ordered() bool {
	return r.world.Set.Spec.PodManagementPolicy != kruisev1beta1.ParallelPodManagement
}

func (r rules) updating() bool {
	u := r.world.Set.Spec.UpdateStrategy
	return u.Type != kruisev1beta1.OnDeleteStatefulSetStrategyType && !u.RollingUpdate.Paused
}

// touched are the names of pods that the plan updates or deletes, in its order, and those that it creates.
func (r rules) touched() (changed, deleted, created []string) {
	for _, each := range r.next.Steps {
		switch each := each.(type) {
		case step.UpdateInPlace:
			if !each.Resumes {
				changed = append(changed, each.Name)
			}
		case step.DeletePod:
			deleted = append(deleted, each.Name)
		case step.CreatePod:
			created = append(created, each.Pod.Name)
		}
	}
	return changed, deleted, created
}

// available is the meaning of the word, independent of the planner.
func (r rules) available(n int) bool {
	m, is := r.at[n]
	return is && m.Available && pod.IsActive(m.Pod)
}

func (r rules) names() {
	seen := map[string]bool{}
	for _, each := range r.next.Steps {
		if _, ofClaim := each.(step.CreateClaim); ofClaim {
			continue
		}
		if seen[each.Subject()] {
			r.Errorf("two steps for %s", each.Subject())
		}
		seen[each.Subject()] = true
		if created, is := each.(step.CreatePod); is && slices.ContainsFunc(r.world.Pods, func(p *corev1.Pod) bool { return p.Name == created.Pod.Name }) {
			r.Errorf("pod %s is created while there is one", created.Pod.Name)
		}
	}
}

func (r rules) brokenOnesAreReplaced() {
	changed, deleted, _ := r.touched()
	var stale, terminating []string
	for _, m := range r.next.Members {
		broken := !pod.IsTerminating(m.Pod) && (pod.IsFinished(m.Pod) || !m.Ready || pod.Lifecycle(m.Pod) != kruisev1alpha1.LifecycleNormal)
		if broken && m.Eligible && !m.Updated {
			stale = append(stale, m.Pod.Name)
		}
		if pod.IsTerminating(m.Pod) {
			terminating = append(terminating, m.Pod.Name)
		}
	}
	if !r.updating() || len(stale) == 0 || isRecording(r.next.Steps) {
		return
	}
	got := slices.DeleteFunc(slices.Concat(changed, deleted, relabelled(r.next.Steps)), func(name string) bool { return !slices.Contains(stale, name) })
	switch {
	case r.ordered() && len(terminating) == 0 && len(got) == 0:
		r.Errorf("%v are broken on an older revision, nothing terminates, and none is touched: %q", stale, r.next.Held)
	case r.ordered() && len(got) > 1:
		r.Errorf("%v are touched at once", got)
	case !r.ordered() && len(got) < len(stale):
		r.Errorf("%v are broken on an older revision, and only %v are touched", stale, got)
	}
}

// isRecording: the plan only records the template; what it is to do is decided when that is done.
func isRecording(steps []step.Step) bool {
	return slices.ContainsFunc(steps, func(s step.Step) bool { _, is := s.(step.CreateRevision); return is })
}

// relabelled are pods that get the update revision without any change.
func relabelled(steps []step.Step) (names []string) {
	for _, each := range steps {
		if p, is := each.(step.PatchPod); is && p.Patch.Labels[kruisev1alpha1.LabelRevision] != nil {
			names = append(names, p.Name)
		}
	}
	return names
}

// order: pods that wait for one another are created upward and deleted downward, one at a time.
func (r rules) order() {
	if !r.ordered() {
		return
	}
	changed, deleted, created := r.touched()
	if len(changed)+len(deleted)+len(created) > 1 {
		r.Errorf("updated %v, deleted %v and created %v in one pass", changed, deleted, created)
	}
	for _, name := range created {
		for _, n := range r.live {
			if name == fmt.Sprintf("web-%d", n) {
				break
			}
			if !r.available(n) {
				r.Errorf("%s is created before %d is available", name, n)
			}
		}
	}
	for _, each := range r.next.Steps {
		doomed, is := each.(step.DeletePod)
		if !is {
			continue
		}
		m := r.memberNamed(doomed.Name)
		allAvailable := !slices.ContainsFunc(r.live, func(n int) bool { return !r.available(n) })
		switch doomed.Cause {
		case step.ScaleIn:
			if !allAvailable {
				r.Errorf("%s is scaled in before all live pods are available", m.Pod.Name)
			}
			for _, other := range r.next.Members {
				if other.Position < 0 && other.Ordinal > m.Ordinal {
					r.Errorf("%s is scaled in before %s", m.Pod.Name, other.Pod.Name)
				}
			}
		case step.Recreate:
			brokenStale := !m.Updated && !m.Ready
			for _, other := range r.next.Members {
				higher := other.Eligible && other.Ordinal > m.Ordinal && !other.Updated && pod.IsActive(other.Pod)
				if higher && (!brokenStale || !other.Ready) {
					r.Errorf("%s is recreated before %s", m.Pod.Name, other.Pod.Name)
				}
			}
			if !brokenStale && !allAvailable {
				r.Errorf("%s is recreated while not all pods are available", m.Pod.Name)
			}
		}
	}
}

func (r rules) memberNamed(name string) plan.Member {
	for _, m := range r.next.Members {
		if m.Pod.Name == name {
			return m
		}
	}
	r.Fatalf("no member is called %s", name)
	return plan.Member{}
}

// allowance: no more available pods are given up than may be unavailable.
func (r rules) allowance() {
	down, given := 0, 0
	for _, n := range r.live {
		if m := r.at[n]; !r.available(n) || !m.Progress.Finished && m.Unreadable == nil {
			down++
		}
	}
	changed, deleted, _ := r.touched()
	for _, name := range slices.Concat(changed, deleted) {
		if m := r.memberNamed(name); m.Position >= 0 && r.available(m.Ordinal) {
			given++
		}
	}
	if given > 0 && down+given > r.next.Limits.Unavailable {
		r.Errorf("%d positions are unavailable and %d more are made so, and %d may be", down, given, r.next.Limits.Unavailable)
	}
	for _, name := range changed {
		if !r.updating() {
			r.Errorf("%s is updated although nothing is to be", name)
		}
	}
}

func (r rules) creations() {
	_, _, created := r.touched()
	down := 0
	for _, n := range r.live {
		if _, is := r.at[n]; is && !r.available(n) {
			down++
		}
	}
	if limit := r.next.Limits.CreateUnavailable; limit != nil && len(created) > 0 && len(created)+down > *limit {
		r.Errorf("%v are created while %d pods are not available, and %d may be", created, down, *limit)
	}
	if r.next.Limits.CreateUnavailable != nil || r.ordered() || isRecording(r.next.Steps) {
		return
	}
	missing := 0
	for _, n := range r.live {
		if _, is := r.at[n]; !is {
			missing++
		}
	}
	if missing != len(created) {
		r.Errorf("%d pods are missing and %d are created", missing, len(created))
	}
}

// partition: what is below it is neither updated nor created on the update revision.
func (r rules) partition() {
	u := r.world.Set.Spec.UpdateStrategy
	if u.Type == kruisev1beta1.OnDeleteStatefulSetStrategyType {
		return
	}
	kept := min(int(*u.RollingUpdate.Partition), len(r.live))
	if u.RollingUpdate.UnorderedUpdate != nil {
		r.unorderedPartition(kept)
		return
	}
	for _, each := range r.next.Steps {
		name, updates := each.Subject(), false
		switch each := each.(type) {
		case step.UpdateInPlace:
			updates = !each.Resumes
		case step.DeletePod:
			updates = each.Cause == step.Recreate
		case step.CreatePod:
			below := slices.ContainsFunc(r.live[:kept], func(n int) bool { return fmt.Sprintf("web-%d", n) == name })
			want := r.next.UpdateRevision
			if below {
				want = r.next.CurrentRevision
			}
			if got := each.Pod.Labels[kruisev1alpha1.LabelRevision]; got != want {
				r.Errorf("%s is created from %s, want %s", name, got, want)
			}
		}
		if updates && slices.ContainsFunc(r.live[:kept], func(n int) bool { return fmt.Sprintf("web-%d", n) == name }) {
			r.Errorf("%s is below the partition of %d and is updated", name, kept)
		}
	}
}

// unorderedPartition: no update leaves fewer pods off the update revision than are to be kept. A missing pod is none of them: it may be
// created on either.
func (r rules) unorderedPartition(kept int) {
	old, updated := 0, 0
	for _, m := range r.next.Members {
		if m.Position >= 0 && !m.Updated && !pod.IsTerminating(m.Pod) {
			old++
		}
	}
	for _, each := range r.next.Steps {
		switch each := each.(type) {
		case step.UpdateInPlace:
			if !each.Resumes {
				updated++
			}
		case step.DeletePod:
			if each.Cause == step.Recreate {
				updated++
			}
		}
	}
	if updated > 0 && old-updated < kept {
		r.Errorf("%d of %d older pods are updated, and %d are to be kept", updated, old, kept)
	}
}

// Whatever users and nodes do, every plan on the way keeps the rules; and when they have come to rest with a template that
// works, the set reaches it without anybody's help, and then nothing more is written.
func TestEveryReachableWorldKeepsTheRulesAndIsNeverStuck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := stageOf(anySet(t))
		defer func() {
			if t.Failed() {
				t.Log(strings.Join(s.log, "\n"))
			}
		}()
		for range rapid.IntRange(1, 12).Draw(t, "acts") {
			disturb(t, s)
			for range rapid.IntRange(0, 4).Draw(t, "passes") {
				check(t, s)
				s.pass()
				s.nodes(time.Duration(rapid.IntRange(0, 4).Draw(t, "seconds")) * time.Second)
			}
		}
		set := s.world.Set.DeepCopy()
		set.Spec.UpdateStrategy.Type, set.Spec.UpdateStrategy.RollingUpdate.Paused = "", false
		set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To[int32](0)
		s.world.Set = set
		s.template(image(9, true))
		for range 300 {
			check(t, s)
			if next := s.pass(); strings.Contains(next.Held, "neither is pod") {
				s.help() // two broken pods that are not wanted any more wait for people, as they do in built-in sets
			}
			s.nodes(time.Second)
			if t.Failed() {
				return
			}
		}
		for _, m := range plan.Next(s.world, s.now).Members {
			if m.Position < 0 || !m.Updated || !m.Available {
				t.Errorf("pod %s: position %d, updated %v, available %v", m.Pod.Name, m.Position, m.Updated, m.Available)
			}
		}
		rest := plan.Next(s.world, s.now)
		if len(rest.Members) != rest.Limits.Replicas || len(rest.Steps) > 0 || rest.Held != "" || rest.LookAgain != 0 {
			t.Errorf("%d of %d pods at the end; %d steps, held %q, looks again in %s", len(rest.Members), rest.Limits.Replicas, len(rest.Steps), rest.Held, rest.LookAgain)
		}
		if s.world.Set.Status.CurrentRevision != rest.UpdateRevision && rest.Limits.Replicas > 0 {
			t.Errorf("the current revision is %s", s.world.Set.Status.CurrentRevision)
		}
	})
}
