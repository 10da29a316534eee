// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/builders"
)

// The fates of a pod, in the words of the plan where it has some.
const (
	inPlace   = "update in place"
	recreated = "recreate"
	deleted   = "delete"
	left      = "left as it is"
)

// forecast is one release: what there is, how the manifest changes, and what both the plan and the manager must make of it.
// Whatever is not said here is still compared between the two.
type forecast struct {
	// wanted is what the manifest asks for in the end.
	wanted *kruisev1alpha1.CloneSet
	// set is how it is applied first. Its name tells the releases apart.
	set *builders.CloneSetBuilder
	// unborn: it is not applied first.
	unborn bool
	// prepare is done when the set has settled, before anybody plans.
	prepare edit
	edit    edit
	// unchanged: the exit status is 0, else 2.
	unchanged bool
	// fates counts the pods of the beginning by what becomes of them. created is how many pods are new.
	fates   map[string]int
	created int
	// least is the fewest pods available at any moment.
	least int
	// first are the pods that are touched first, in this order, by their index.
	first []int
	// forces is the field that cannot change on a living pod. refused: and so nothing happens.
	forces  string
	refused bool
}

// releases change the template.
func releases() []*forecast {
	return []*forecast{
		{set: builders.CloneSet("in-place").Replicas(4).InPlace().MaxUnavailable("2"), edit: next,
			fates: map[string]int{inPlace: 4}, least: 2},
		{set: builders.CloneSet("partition").Replicas(5).InPlace().MaxUnavailable("1").Partition("3"), edit: next,
			fates: map[string]int{inPlace: 2, left: 3}, least: 4},
		{set: builders.CloneSet("recreate").Replicas(3).MaxUnavailable("1"), edit: next,
			fates: map[string]int{recreated: 3}, created: 3, least: 2},
		{set: builders.CloneSet("recreate-by-two").Replicas(4).MaxUnavailable("2"), edit: next,
			fates: map[string]int{recreated: 4}, created: 4, least: 2},
		// The pod above the replicas comes first, and the last old one makes room for it.
		{set: builders.CloneSet("surge").Replicas(3).MaxUnavailable("0").MaxSurge("1"), edit: next,
			fates: map[string]int{recreated: 2, deleted: 1}, created: 3, least: 3},
		{set: builders.CloneSet("fall-back").Replicas(3).InPlace().MaxUnavailable("1"), edit: variable,
			fates: map[string]int{recreated: 3}, created: 3, least: 2, forces: "spec.containers[app].env"},
		{set: builders.CloneSet("in-place-only").Replicas(3).Type(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType), edit: variable,
			fates: map[string]int{left: 3}, least: 3, forces: "spec.containers[app].env", refused: true},
		{set: builders.CloneSet("weights").Replicas(4).InPlace().MaxUnavailable("1").With(weights), prepare: tiers("", "low", "high", ""), edit: next,
			fates: map[string]int{inPlace: 4}, least: 3, first: []int{2, 1}},
		{set: builders.CloneSet("order").Replicas(4).InPlace().MaxUnavailable("1").With(ordered), prepare: tiers("t-2", "t-10", "t-1", "t-7"), edit: next,
			fates: map[string]int{inPlace: 4}, least: 3, first: []int{1, 3, 0, 2}},
		{set: builders.CloneSet("scatter").Replicas(5).InPlace().MaxUnavailable("1").With(scattered), prepare: tiers("a", "a", "", "", ""), edit: next,
			fates: map[string]int{inPlace: 5}, least: 4},
		{set: builders.CloneSet("grace").Replicas(2).InPlace().MaxUnavailable("1").Grace(1), edit: next,
			fates: map[string]int{inPlace: 2}, least: 1},
		{set: builders.CloneSet("resize").Replicas(2).InPlace().MaxUnavailable("1").With(request("100m")),
			edit:  func(set *kruisev1alpha1.CloneSet, _ []*corev1.Pod) { request("200m")(set) },
			fates: map[string]int{inPlace: 2}, least: 2},
		{set: builders.CloneSet("claims").Replicas(2).MaxUnavailable("1").Claim("data"), edit: next,
			fates: map[string]int{recreated: 2}, created: 2, least: 1},
		{set: builders.CloneSet("roll-back").Replicas(3).InPlace().MaxUnavailable("1"),
			prepare: func(set *kruisev1alpha1.CloneSet, _ []*corev1.Pod) { release(set, "v2") },
			fates:   map[string]int{inPlace: 3}, least: 2},
		{set: builders.CloneSet("labels").Replicas(3).InPlace().MaxUnavailable("1"),
			edit:  template(func(t *corev1.PodTemplateSpec) { t.Labels["tier"] = "front" }),
			fates: map[string]int{inPlace: 3}, least: 3},
		// New pods have the new version at once, and must be available before the old ones may change.
		{set: builders.CloneSet("scale-out-and-release").Replicas(2).InPlace().MaxUnavailable("1"), edit: both(next, scale(4)),
			fates: map[string]int{inPlace: 2}, created: 2, least: 2},
		{set: builders.CloneSet("scale-in-and-release").Replicas(4).InPlace().MaxUnavailable("1"), edit: both(next, scale(2)),
			fates: map[string]int{deleted: 2, inPlace: 2}, least: 1},
	}
}

// others change the number of pods, or nothing yet.
func others() []*forecast {
	return []*forecast{
		{set: builders.CloneSet("deletion-cost").Replicas(4), prepare: costs("", "-5", "", "-10"), edit: scale(2),
			fates: map[string]int{deleted: 2, left: 2}, least: 2},
		{set: builders.CloneSet("zones").Replicas(4).With(spread), prepare: zones("a", "b", "b", "b"), edit: scale(3),
			fates: map[string]int{deleted: 1, left: 3}, least: 3},
		{set: builders.CloneSet("chosen").Replicas(4).MaxUnavailable("1"), edit: choose(2, 0),
			fates: map[string]int{deleted: 2, left: 2}, created: 2, least: 3},
		{set: builders.CloneSet("scale-out").Replicas(2), edit: scale(5),
			fates: map[string]int{left: 2}, created: 3, least: 2},
		{set: builders.CloneSet("paused").Replicas(2).InPlace().Paused(), edit: next,
			fates: map[string]int{left: 2}, least: 2, refused: true},
		{set: builders.CloneSet("unchanged").Replicas(2), unchanged: true,
			fates: map[string]int{left: 2}, least: 2},
		{set: builders.CloneSet("unborn").Replicas(3), unborn: true,
			fates: map[string]int{}, created: 3, least: 0},
	}
}

var _ = Describe("A plan", func() {
	It("is what the manager then does, pod by pod, for many kinds of changes", func() {
		all := slices.Concat(releases(), others()) // at the same time, in one namespace
		dir := GinkgoT().TempDir()
		before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
		for _, f := range all {
			if !f.unborn {
				f.write(before, nil)
			}
		}
		apply(before)
		pods := make([][]*corev1.Pod, len(all))
		for i, f := range all {
			if !f.unborn {
				pods[i] = podsOf(settle(f.here()))
			}
			if f.prepare != nil {
				f.prepare(get(f.here()), pods[i])
			}
		}
		told, chapters := make([]foretelling, len(all)), make([]*chapter, len(all))
		for i, f := range all {
			if !f.unborn {
				chapters[i] = from(settle(f.here()))
			}
			told[i] = plan(f.write(after, pods[i]))
		}
		apply(after)
		var same []string
		for i, f := range all {
			set := f.settle()
			if f.unborn {
				chapters[i] = beginning(set)
			}
			if len(f.wanted.Spec.ScaleStrategy.PodsToDelete) == 0 {
				same = append(same, f.file(after))
			}
		}
		var wrong []string
		for i, f := range all {
			for _, what := range f.judge(told[i], chapters[i], pods[i]) {
				wrong = append(wrong, f.name()+": "+what)
			}
		}
		Expect(wrong).To(BeEmpty(), strings.Join(wrong, "\n"))
		Expect(same).To(HaveLen(len(all)-1), "manifests that are as the sets are now: all but that which chooses pods")
		Expect(plan(same...).status).To(Equal(0), "the exit status when everything is done")
	})

	It("ends with 1 and names file and field, where the API server refuses the manifest", func() {
		f := &forecast{set: builders.CloneSet("web").MaxUnavailable("-1")}
		file := f.write(GinkgoT().TempDir(), nil)
		refused := plan(file)
		Expect(refused.status).To(Equal(1))
		Expect(refused.errors).To(And(ContainSubstring(file), ContainSubstring("spec.updateStrategy.maxUnavailable")))
		Expect(refused.Moments).To(BeEmpty())
	})
})

func (f *forecast) name() string { return f.set.Build().Name }

// here is the set by its name in the namespace of the spec.
func (f *forecast) here() *kruisev1alpha1.CloneSet {
	return &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: f.name()}}
}

func (f *forecast) file(dir string) string { return filepath.Join(dir, f.name()+".yaml") }

// write writes the manifest, changed when there are pods to change it for, and returns its file.
func (f *forecast) write(dir string, pods []*corev1.Pod) string {
	GinkgoHelper()
	f.wanted = f.set.Build().DeepCopy()
	if pods != nil && f.edit != nil {
		f.edit(f.wanted, pods)
	}
	content, err := yaml.Marshal(map[string]any{
		"apiVersion": kruisev1alpha1.GroupVersion.String(), "kind": kruisev1alpha1.CloneSetKind,
		"metadata": map[string]string{"namespace": namespace, "name": f.name()}, "spec": f.wanted.Spec,
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	Expect(os.WriteFile(f.file(dir), content, 0o600)).To(Succeed())
	return f.file(dir)
}

func apply(dir string) {
	GinkgoHelper()
	cluster.kubectl(testCtx, "apply", "-f", dir)
}

// settle waits until the manager has done all that it will do.
func (f *forecast) settle() *kruisev1alpha1.CloneSet {
	GinkgoHelper()
	if f.refused {
		var now *kruisev1alpha1.CloneSet
		Eventually(func(g Gomega) {
			now = get(f.here())
			g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
			g.Expect(viewOf(now).ready.Status).To(Equal(metav1.ConditionFalse))
		}).Should(Succeed())
		return now
	}
	Eventually(func() []string { return get(f.here()).Spec.ScaleStrategy.PodsToDelete }).Should(BeEmpty())
	return settle(f.here())
}

// judge holds the plan against what happened, and both against what must be. It returns what is wrong.
func (f *forecast) judge(told foretelling, c *chapter, pods []*corev1.Pod) (wrong []string) {
	GinkgoHelper()
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	names := namesOf(pods)
	foretold, happened := told.course(names), c.course(names)
	if diff := cmp.Diff(foretold, happened); diff != "" {
		complain("the plan and the manager disagree (-plan +manager):\n%s", diff)
	}
	counts := map[string]int{}
	for _, fate := range foretold.Fates {
		counts[fate]++
	}
	created := 0
	for _, n := range foretold.Created {
		created += n
	}
	if diff := cmp.Diff(f.fates, counts); diff != "" || created != f.created {
		complain("the plan creates %d pods, want %d; fates (-want +got):\n%s", created, f.created, diff)
	}
	if want := map[bool]int{true: 0, false: 2}[f.unchanged]; told.status != want {
		complain("plan ends with %d, want %d: %s", told.status, want, told.errors)
	}
	wrong = append(wrong, told.outOfOrder(c.deeds(), names)...)
	moments := history(c.set).Moments(audit.Window{From: c.from}, 0)
	least := slices.MinFunc(moments, func(a, b audit.Moment) int { return a.Available - b.Available }).Available
	if told.LeastAvailable != f.least || least < told.LeastAvailable {
		complain("at least %d pods were available, the plan says %d, it should be %d", least, told.LeastAvailable, f.least)
	}
	if most := audit.MostPods(moments); most > told.most() {
		complain("there were %d pods, the plan knows of %d at most", most, told.most())
	}
	for i, index := range f.first {
		if order := told.touched(); len(order) <= i || order[i] != names[index] {
			complain("the plan touches %v, want %s at place %d", order, names[index], i)
		}
	}
	if f.forces != "" {
		forced := len(told.Changes) == 1 && !told.Changes[0].InPlace && slices.Equal(told.Changes[0].Forces, []string{f.forces})
		if !forced || !strings.Contains(told.why(), f.forces) {
			complain("the plan does not name %s: %+v, %s", f.forces, told.Changes, told.why())
		}
	}
	if f.refused {
		if diff := cmp.Diff(slices.Sorted(slices.Values(told.Left)), f.said(get(f.here()))); diff != "" {
			complain("the reasons why nothing is done differ (-plan +status):\n%s", diff)
		}
	}
	return wrong
}

// said are the reasons in the conditions for leaving pods as they are.
func (f *forecast) said(set *kruisev1alpha1.CloneSet) []string {
	for _, c := range set.Status.Conditions {
		if c.Type == kruisev1alpha1.CloneSetConditionStalled && c.Status == corev1.ConditionTrue {
			return slices.Sorted(slices.Values(strings.Split(c.Message, "; ")))
		}
	}
	_, why, _ := strings.Cut(viewOf(set).ready.Message, "; ")
	return strings.Split(why, "; ")
}
