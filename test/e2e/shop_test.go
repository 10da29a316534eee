// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/builders"
)

// cells are those of the suite's nodes.
var cells = []string{"cell-1", "cell-2"}

// shop is a CafeDeployment over the cells, and what people do with it.
type shop struct {
	d *cafev1alpha1.CafeDeployment
	// waves are what it went through, in their order.
	waves []wave
}

// wave is a creation or a release, in groups.
type wave struct {
	what, version string
	// groups are the pods that each group takes in each of the cells.
	groups []int
	// ended: it came to its end, and was not given up for the next one.
	ended bool
}

// openShop creates a CafeDeployment with an even number of pods: first one in each cell, then groups of batch, each after a
// confirmation. Groups are what that makes in each cell.
func openShop(kind cafev1alpha1.PodSetType, replicas, batch int32, groups ...int) *shop {
	GinkgoHelper()
	name := strings.ToLower(string(kind))
	app := map[string]string{"app": name}
	s := &shop{d: &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: &replicas, PodSetType: kind, Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: builders.Container, Image: image("v1")}}},
			},
			Strategy: cafev1alpha1.CafeDeploymentStrategy{UpgradeType: cafev1alpha1.BetaUpgradeType, BatchSize: &batch, NeedWaitingForConfirm: true},
			Topology: cafev1alpha1.Topology{Values: cells},
		},
	}}
	Expect(cluster.Create(testCtx, s.d)).To(Succeed())
	s.waves = []wave{{what: "the creation", version: "v1", groups: groups}}
	return s
}

// release asks for another version.
func (s *shop) release(version string, groups ...int) {
	GinkgoHelper()
	release(s.d, version)
	s.waves = append(s.waves, wave{what: "the release of " + version, version: version, groups: groups})
}

// undo goes back to a version, which is the one of before.
func (s *shop) undo(version string, groups ...int) {
	GinkgoHelper()
	Expect(s.slipway("undo")).To(ContainSubstring(image(version)))
	Expect(get(s.d).Spec.Template.Spec.Containers[0].Image).To(Equal(image(version)), "what slipway undo went back to")
	s.waves = append(s.waves, wave{what: "the way back to " + version, version: version, groups: groups})
}

func (s *shop) wave() *wave { return &s.waves[len(s.waves)-1] }

// slipway runs a command of the CLI about the deployment, as a person would, and returns what it printed.
func (s *shop) slipway(command ...string) string {
	GinkgoHelper()
	args := append(slices.Clone(command), s.d.Name, "--namespace", namespace)
	output, err := cluster.slipway(testCtx, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "slipway %v: %s", args, output)
	return string(output)
}

// asked waits until as many groups are done and the next one waits for a person, or for the end of a pause.
func (s *shop) asked(done int, phase cafev1alpha1.CafeDeploymentPhase) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := get(s.d)
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
		g.Expect(now.Status.Phase).To(Equal(phase), "the phase; %s", viewOf(now).ready.Message)
		g.Expect(groupsOf(now)).To(Equal(s.groups(done)), "the groups of %s", s.wave().what)
	}).Should(Succeed())
}

// groups are those of the wave in words, of which as many are done.
func (s *shop) groups(done int) (words []string) {
	for i, pods := range s.wave().groups {
		kind := map[bool]cafev1alpha1.GroupKind{true: cafev1alpha1.BetaGroup, false: cafev1alpha1.BatchGroup}[i == 0]
		words = append(words, fmt.Sprintf("%s %s %d %s %d done=%t", kind, cells[0], pods, cells[1], pods, i < done))
	}
	return words
}

func groupsOf(d *cafev1alpha1.CafeDeployment) (words []string) {
	for _, group := range d.Status.Groups {
		word := string(group.Kind)
		for _, unit := range group.Units {
			word += fmt.Sprintf(" %s %d", unit.Name, unit.Pods)
		}
		words = append(words, fmt.Sprintf("%s done=%t", word, group.Done))
	}
	return words
}

// confirmed waits until a group waits, and lets it begin.
func (s *shop) confirmed(done int) {
	GinkgoHelper()
	s.asked(done, cafev1alpha1.WaitingForConfirmPhase)
	Expect(s.slipway("confirm")).To(ContainSubstring(fmt.Sprintf("group %d of %d", done+1, len(s.wave().groups))))
}

// goThrough lets all groups begin that come after those, and waits for the end.
func (s *shop) goThrough(done int) {
	GinkgoHelper()
	for ; done < len(s.wave().groups); done++ {
		s.confirmed(done)
	}
	s.end()
}

// end waits until the wave is over.
func (s *shop) end() {
	GinkgoHelper()
	now := settle(s.d)
	Expect(now.Status.Phase).To(Equal(cafev1alpha1.StablePhase))
	Expect(now.Status.CurrentRevision).To(Equal(now.Status.UpdateRevision))
	Expect(groupsOf(now)).To(Equal(s.groups(len(s.wave().groups))), "the groups of %s", s.wave().what)
	Expect(now.Annotations).NotTo(HaveKey(cafev1alpha1.AnnotationUpgradeConfirmed), "a question that nobody has to answer")
	s.wave().ended = true
}

func (s *shop) keeps() bool {
	return s.d.Spec.PodSetType != cafev1alpha1.ReplicaSetPodSetType && s.d.Spec.PodSetType != cafev1alpha1.StatefulSetPodSetType
}

// pods are all of the deployment that are neither finished nor going away.
func (s *shop) pods() []*corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: s.selector()})).To(Succeed())
	var pods []*corev1.Pod
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (s *shop) selector() labels.Selector {
	return labels.SelectorFromSet(s.d.Spec.Selector.MatchLabels)
}

// running counts the pods with the image of a version.
func (s *shop) running(version string) int {
	GinkgoHelper()
	return len(slices.DeleteFunc(images(s.pods()), func(i string) bool { return i != image(version) }))
}

// judge looks at every wave in the audit log.
func (s *shop) judge() {
	GinkgoHelper()
	told := s.history()
	from := s.beginnings()
	groups, pods, unavailable, states := 0, 0, 0, 0
	for i, w := range s.waves {
		window := audit.Window{From: from[i], To: from[i+1]}
		let := s.let(window)
		if w.ended {
			Expect(let).To(HaveLen(max(0, len(w.groups)-1)), "how often a person let %s go on", w.what)
		}
		course := told.Course(window, s.asRelease(i, let))
		Expect(course.Broken).To(BeEmpty(), "promises that %s of %s broke", w.what, s.d.Name)
		groups += len(let) + 1
		pods, unavailable, states = max(pods, course.Pods), max(unavailable, course.Unavailable), states+course.States
	}
	kept := audit.Kept(told.At(from[1]), told.At(0))
	if s.keeps() {
		Expect(kept).To(HaveLen(int(*s.d.Spec.Replicas)), "pods of %s with the same UID and IP after all releases", s.d.Name)
	} else {
		Expect(kept).To(BeEmpty(), "pods of %s that no release has replaced", s.d.Name)
	}
	say("%s: %d groups in the creation and %d releases, at most %d pods and %d unavailable in %d states, %d pods kept",
		s.d.Name, groups, len(s.waves)-1, pods, unavailable, states, len(kept))
}

// asRelease is a wave as a judge wants it: with the groups that people have let begin.
func (s *shop) asRelease(i int, let []uint64) audit.Release {
	w := s.waves[i]
	r := audit.Release{
		UnitOf:  func(p *corev1.Pod) string { return p.Labels[cafev1alpha1.LabelUnit] },
		Updated: func(p *corev1.Pod) bool { return p.Spec.Containers[0].Image == image(w.version) },
		Desired: everywhere(int(*s.d.Spec.Replicas) / len(cells)),
		Creates: i == 0, Surges: s.d.Spec.PodSetType == cafev1alpha1.ReplicaSetPodSetType, GivenUp: !w.ended,
		Groups: []audit.Group{{Pods: everywhere(1)}}, // also of one that only takes pods away
	}
	for n, after := range let {
		r.Groups = append(r.Groups, audit.Group{After: after, Pods: everywhere(w.groups[n+1])})
	}
	return r
}

// history is what the audit log tells of all pods of the deployment.
func (s *shop) history() *audit.History {
	GinkgoHelper()
	return toldOf(namespace, s.pods, func(seen []audit.Sighting) *audit.History {
		return audit.HistoryOf(func(p *corev1.Pod) bool { return s.selector().Matches(labels.Set(p.Labels)) }, seen)
	})
}

func everywhere(pods int) map[string]int { return map[string]int{cells[0]: pods, cells[1]: pods} }

// beginnings are the versions of the cluster at which the waves were asked for, and 0 for the end of the last one.
func (s *shop) beginnings() []uint64 {
	GinkgoHelper()
	from := []uint64{0}
	for _, write := range s.writes() {
		if i := len(from); i < len(s.waves) && write.version > from[i-1] && write.Spec.Template.Spec.Containers[0].Image == image(s.waves[i].version) {
			from = append(from, write.version)
		}
	}
	Expect(from).To(HaveLen(len(s.waves)), "templates in the audit log")
	return append(from, 0)
}

// let are the versions at which people let groups begin: by an answer to a question, or by the end of a pause that had held
// one back.
func (s *shop) let(w audit.Window) (versions []uint64) {
	GinkgoHelper()
	was, answered := "", false
	for _, write := range s.writes() {
		if write.version <= w.From || w.To != 0 && write.version > w.To {
			continue
		}
		is := write.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed]
		if is == cafev1alpha1.ConfirmationGiven && was != is {
			Expect(write.by).To(Equal("slipway"), "who confirmed")
			answered = true
		}
		if was = is; answered && !write.Spec.Strategy.Pause {
			versions, answered = append(versions, write.version), false
		}
	}
	return versions
}

// deploymentWrite is the deployment as a write left it.
type deploymentWrite struct {
	*cafev1alpha1.CafeDeployment
	version uint64
	// by is the program that wrote.
	by string
}

// writes are those of the deployment, in their order. The audit log has been read up to now.
func (s *shop) writes() (all []deploymentWrite) {
	GinkgoHelper()
	for _, write := range cluster.audit.deployments {
		if write.Namespace != namespace || write.Verb == "delete" {
			continue
		}
		d := &cafev1alpha1.CafeDeployment{}
		Expect(json.Unmarshal(write.Answered, d)).To(Succeed())
		if d.Name == s.d.Name {
			version, err := strconv.ParseUint(d.ResourceVersion, 10, 64)
			Expect(err).NotTo(HaveOccurred())
			all = append(all, deploymentWrite{d, version, audit.Product(write.UserAgent)})
		}
	}
	slices.SortFunc(all, func(a, b deploymentWrite) int { return cmp.Compare(a.version, b.version) })
	return all
}

// change changes the spec as a user does.
func (s *shop) change(how func(*cafev1alpha1.CafeDeploymentSpec)) {
	GinkgoHelper()
	change(s.d, func(now *cafev1alpha1.CafeDeployment) { how(&now.Spec) })
}
