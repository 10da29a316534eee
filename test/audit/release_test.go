// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// part puts a pod into a unit, on a version.
func part(unit, version string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{"unit": unit, "version": version} }
}

// fleet is a story of pods in units: "a1" is pod 1 of unit a.
type fleet struct{ seen []Sighting }

// is shows pods in one state, one after the other.
func (f *fleet) is(version string, pods []string, change ...func(*corev1.Pod)) *fleet {
	for _, name := range pods {
		f.seen = append(f.seen, at(0, pod(name, len(f.seen)+1, append(change, part(name[:1], version))...)))
	}
	return f
}

// updated takes pods down and brings them back on the next version.
func (f *fleet) updated(pods ...string) *fleet {
	return f.is("v1", pods, unready).is("v2", pods, unready).is("v2", pods)
}

func (f *fleet) gone(pods ...string) *fleet {
	f.is("v1", pods, deleting)
	return f
}

func names(unit string, from, to int) (all []string) {
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprint(unit, i))
	}
	return all
}

func old() *fleet { return new(fleet).is("v1", names("a", 1, 3)).is("v1", names("b", 1, 3)) }

// released is a release of three pods in each of two units: one in each, and then two in each.
func released(groups ...uint64) Release {
	r := Release{
		UnitOf:  func(p *corev1.Pod) string { return p.Labels["unit"] },
		Updated: func(p *corev1.Pod) bool { return p.Labels["version"] == "v2" },
		Desired: map[string]int{"a": 3, "b": 3},
		Groups:  []Group{{Pods: map[string]int{"a": 1, "b": 1}}, {Pods: map[string]int{"a": 2, "b": 2}}},
	}
	for i, after := range groups {
		r.Groups[i+1].After = after
	}
	return r
}

func TestCourseOfARelease(t *testing.T) {
	const begins = 6
	first, rest := []string{"a1", "b1"}, []string{"a2", "b2", "a3", "b3"}
	for sentence, test := range map[string]struct {
		story *fleet
		// let is when the second group is let begin: after as many sightings.
		let    uint64
		change func(*Release)
		want   []string
		// unavailable and pods are the most.
		unavailable, pods int
	}{
		"as it was asked for": {story: old().updated(first...).updated(rest...), let: 12, unavailable: 4, pods: 6},
		"a group that is larger than it may be": {
			story: old().updated("a1", "b1", "a2").updated("b2", "a3", "b3"), let: 15, unavailable: 3, pods: 6,
			want: []string{
				"group 1 of 2: unit a has 1 available pods of older versions, and 2 are not to be touched yet",
				"group 1 of 2: unit a has 1 available pods, fewer than 2",
				"group 1 of 2: unit a has 2 pods available on the new version when the next group may begin, not 1",
				"group 1 of 2: unit a has 2 pods on the new version, more than 1",
			},
		},
		"a group that begins before it was let": {
			story: old().updated(first...).is("v1", []string{"b3"}, unready).updated(rest...), let: 13, unavailable: 4, pods: 6,
			want: []string{"group 1 of 2: unit b has 1 available pods of older versions, and 2 are not to be touched yet"},
		},
		"a group that is let begin before the last one is done": {
			story: old().is("v1", first, unready).is("v2", first, unready).is("v2", first).updated(rest...), let: 11, unavailable: 4, pods: 6,
			want: []string{"group 1 of 2: unit b has 0 pods available on the new version when the next group may begin, not 1"},
		},
		"a release that does not end": {
			story: old().updated(first...).updated("a2", "b2", "a3"), let: 12, unavailable: 3, pods: 6,
			want: []string{"group 2 of 2: unit b has 3 pods in the end, 2 of them available on the new version, not 3"},
		},
		"one that was given up need not end": {
			story: old().updated(first...), let: 12, change: func(r *Release) { r.GivenUp, r.Groups = true, r.Groups[:1] }, unavailable: 2, pods: 6,
		},
		"a later group that never begins": {
			story: old().updated(first...), let: 12, unavailable: 2, pods: 6,
			want: []string{
				"group 2 of 2: unit a has 3 pods in the end, 1 of them available on the new version, not 3",
				"group 2 of 2: unit b has 3 pods in the end, 1 of them available on the new version, not 3",
			},
		},
		"pods that were on the version before count as done": {
			story: new(fleet).is("v2", names("a", 1, 1)).is("v1", names("a", 2, 3)).is("v1", names("b", 1, 3)).updated("b1", "a2").updated("a3", "b2", "b3"), let: 12,
			change: func(r *Release) { r.Groups[1].Pods["a"] = 1 }, unavailable: 3, pods: 6,
		},
		"one pod more than there may be": {
			story: old().is("v2", []string{"a4"}).updated("b1").gone("a1").updated(rest...), let: 11, unavailable: 4, pods: 7,
			want: []string{"group 1 of 2: unit a has 4 pods, more than 3"},
		},
		"which a surge may be": {
			story: old().is("v2", []string{"a4", "b4"}).gone("a1", "b1").is("v2", []string{"a5", "b5", "a6", "b6"}).gone(rest...), let: 10,
			change: func(r *Release) { r.Surges = true }, pods: 10,
		},
		"but then none is unavailable": {
			story: old().is("v2", []string{"a4"}).gone("a1", "b1").is("v2", []string{"b4"}).is("v2", []string{"a5", "b5", "a6", "b6"}).gone(rest...), let: 10,
			change: func(r *Release) { r.Surges = true }, unavailable: 1, pods: 10,
			want: []string{"group 1 of 2: unit b has 2 available pods, fewer than 3"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := released(test.let)
			if test.change != nil {
				test.change(&r)
			}
			got := HistoryOf(func(*corev1.Pod) bool { return true }, test.story.seen).Course(Window{From: begins}, r)
			want := Course{Broken: test.want, Unavailable: test.unavailable, Pods: test.pods, States: len(test.story.seen) - begins + 1}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("course (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCourseOfACreation(t *testing.T) {
	grown := func(f *fleet, pods ...string) *fleet { return f.is("v2", pods, unready).is("v2", pods) }
	for sentence, test := range map[string]struct {
		story *fleet
		let   uint64
		want  []string
	}{
		"group by group": {story: grown(grown(new(fleet), "a1", "b1"), "a2", "b2", "a3", "b3"), let: 4},
		"one pod too early": {
			story: grown(grown(new(fleet), "a1", "b1", "b2"), "a2", "a3", "b3"), let: 6,
			want: []string{
				"group 1 of 2: unit b has 2 pods available on the new version when the next group may begin, not 1",
				"group 1 of 2: unit b has 2 pods on the new version, more than 1",
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := released(test.let)
			r.Creates = true
			got := HistoryOf(func(*corev1.Pod) bool { return true }, test.story.seen).Course(Window{}, r)
			if diff := cmp.Diff(Course{Broken: test.want, Pods: 6, States: len(test.story.seen) + 1}, got); diff != "" {
				t.Errorf("course (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAHistoryOfPodsThatMatch(t *testing.T) {
	story := old()
	of := HistoryOf(func(p *corev1.Pod) bool { return p.Labels["unit"] == "a" }, story.is("v1", []string{"b1"}).gone("a2").seen)
	if got := len(of.At(0)); got != 2 {
		t.Errorf("%d pods of unit a, want 2", got)
	}
	if got := MostPods(of.Moments(Window{}, 0)); got != 3 {
		t.Errorf("at most %d pods of unit a, want 3", got)
	}
}
