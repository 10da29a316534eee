// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// cell is one rollout of one kind that goes through one story.
type cell struct {
	*drivenKind
	story story
	name  string
	// at is the move that comes next.
	at int
	// size is how many pods there are to be, also after somebody has changed that.
	size int
	// from is the version of the cluster before the rollout, and caps are what the story has let it do, in order.
	from uint64
	caps []allowedUntil
	// seen is the cell at the last look.
	seen sight
}

// allowedUntil says how many pods could be changed until a version of the cluster, whatever was available.
type allowedUntil struct {
	version uint64
	pods    int
}

// sight is what there is of a cell.
type sight struct {
	trait          *rolloutv1alpha1.RolloutTrait
	target, source *unstructured.Unstructured
	pods           []*corev1.Pod
}

func (c *cell) targetName() string {
	if c.mode == rolloutv1alpha1.TwoObjectsMode {
		return c.name + "-new"
	}
	return c.name
}

func (c *cell) sourceName() string { return c.name + "-old" }

func (c *cell) ref(name string) rolloutv1alpha1.WorkloadReference {
	return rolloutv1alpha1.WorkloadReference{APIVersion: c.id.GroupVersion().String(), Kind: c.id.Kind, Name: name}
}

// create creates the workload in the version that comes first.
func (c *cell) create() {
	GinkgoHelper()
	name := c.targetName()
	if c.mode == rolloutv1alpha1.TwoObjectsMode {
		name = c.sourceName()
	}
	c.size = c.drivenKind.size
	Expect(cluster.Create(testCtx, c.fresh(name, c.name, "v1", c.size))).To(Succeed())
}

// begin releases the new version and creates the rollout.
func (c *cell) begin() {
	GinkgoHelper()
	var released *unstructured.Unstructured
	switch c.mode {
	case rolloutv1alpha1.TwoObjectsMode:
		released = c.fresh(c.targetName(), c.name, c.story.version(), 0)
		Expect(cluster.Create(testCtx, released)).To(Succeed())
	case rolloutv1alpha1.InPlaceMode:
		released = c.edited(c.name, withImage(c.story.version()), c.rest.into)
	case rolloutv1alpha1.ScaleMode:
		released = c.edited(c.name)
	}
	c.from = versionOf(released)
	trait := &rolloutv1alpha1.RolloutTrait{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.name},
		Spec:       rolloutv1alpha1.RolloutTraitSpec{TargetRef: c.ref(c.targetName())},
	}
	plan := &trait.Spec.RolloutPlan
	plan.RolloutBatches = []rolloutv1alpha1.RolloutBatch{{Replicas: ptr.To(intstr.FromInt32(1))}, {Replicas: ptr.To(intstr.FromInt32(1))}, {}}
	switch c.mode {
	case rolloutv1alpha1.TwoObjectsMode:
		trait.Spec.SourceRef = []rolloutv1alpha1.WorkloadReference{c.ref(c.sourceName())}
	case rolloutv1alpha1.ScaleMode:
		plan.TargetSize = ptr.To(int32(c.to))
	case rolloutv1alpha1.InPlaceMode:
	}
	if c.story.plan != nil {
		c.story.plan(plan)
	}
	Expect(cluster.Create(testCtx, trait)).To(Succeed())
}

// change changes the rollout as a user does. What it was allowed until then is noted.
func (c *cell) change(how func(*rolloutv1alpha1.RolloutTrait)) {
	GinkgoHelper()
	now := get(c.seen.trait)
	changed := now.DeepCopy()
	how(changed)
	Expect(cluster.Patch(testCtx, changed, client.MergeFrom(now))).To(Succeed())
	if p := now.Spec.RolloutPlan.BatchPartition; p != nil {
		c.caps = append(c.caps, allowedUntil{versionOf(changed), c.goals()[*p]})
	}
}

// goals are how many pods are changed after each batch. Where a scale is superseded after its first one, they go on from there.
func (c *cell) goals() []int {
	if c.mode == rolloutv1alpha1.ScaleMode && c.story.name == "superseded" {
		return []int{1, 2, 3, c.total() + 1}
	}
	return []int{1, 2, c.total()}
}

// total is how many pods the batches divide.
func (c *cell) total() int {
	if c.mode == rolloutv1alpha1.ScaleMode {
		return max(c.to-c.drivenKind.size, c.drivenKind.size-c.to)
	}
	return c.size
}

// step takes the story further when it is time for its next move.
func (c *cell) step() {
	GinkgoHelper()
	if c.at < len(c.story.moves) && c.story.moves[c.at].when(c) {
		c.story.moves[c.at].do(c)
		c.at++
	}
}

// onVersion counts active pods of a version.
func (s sight) onVersion(version string) int {
	n := 0
	for _, p := range s.pods {
		if p.Spec.Containers[0].Image == image(version) {
			n++
		}
	}
	return n
}

// wrong is what is not yet, or not at all, as the story has it end; empty when it has ended well.
func (c *cell) wrong() []string {
	if c.at < len(c.story.moves) {
		return []string{fmt.Sprintf("waits for its move %d of %d", c.at+1, len(c.story.moves))}
	}
	var list []string
	expect := func(is bool, format string, args ...any) {
		if !is {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	end := c.story.end(c)
	if t := c.seen.trait; end.state == "" {
		expect(t == nil, "the rollout is still there")
	} else if t == nil {
		expect(false, "the rollout is gone")
	} else {
		s := &t.Status
		expect(s.RollingState == end.state && s.ObservedGeneration == t.Generation, "state %s of generation %d, want %s of %d", s.RollingState, s.ObservedGeneration, end.state, t.Generation)
		expect(len(t.Finalizers) == 0, "finalizers %v", t.Finalizers)
		reason := ""
		if s.Failure != nil {
			reason = s.Failure.Reason
		}
		expect(reason == end.failure, "failure %q, want %q", reason, end.failure)
	}
	if c.mode == rolloutv1alpha1.TwoObjectsMode {
		expect(c.seen.source != nil && sizeOf(c.seen.source) == end.source, "the source is %v, want %d pods", sizes(c.seen.source), end.source)
	}
	if end.noTarget {
		expect(c.seen.target == nil, "the target is still there")
	} else if t := c.seen.target; t == nil {
		expect(false, "the target is gone")
	} else {
		expect(imageOf(t) == image(end.template), "the template has image %s, want %s", imageOf(t), image(end.template))
		expect(end.target < 0 || sizeOf(t) == end.target, "the target is asked for %d pods, want %d", sizeOf(t), end.target)
		if end.opened {
			for _, f := range c.opened.missing(t) {
				expect(false, "%s is not %v", strings.Join(f.at, "."), f.value)
			}
		}
	}
	broken := c.seen.onVersion("broken")
	expect(broken <= end.pods["broken"], "%d broken pods, want at most %d", broken, end.pods["broken"])
	for _, version := range []string{"v1", "v2", "v3"} {
		n, want := c.seen.onVersion(version), end.pods[version]
		if version == "v1" && c.mode == rolloutv1alpha1.InPlaceMode { // the deadline may be over before any pod is changed
			want += end.pods["broken"] - broken
		}
		expect(n == want, "%d pods of %s, want %d", n, version, want)
	}
	n := availableOf(c.seen.pods)
	expect(n == len(c.seen.pods)-broken, "%d of %d pods are available, and %d are broken", n, len(c.seen.pods), broken)
	return append(list, c.left()...)
}

func sizes(o *unstructured.Unstructured) string {
	if o == nil {
		return "gone"
	}
	return fmt.Sprintf("asked for %d pods", sizeOf(o))
}

// left is what a rollout has left behind on its workloads.
func (c *cell) left() []string {
	var list []string
	for _, o := range []*unstructured.Unstructured{c.seen.target, c.seen.source} {
		if o == nil {
			continue
		}
		for _, ref := range o.GetOwnerReferences() {
			list = append(list, fmt.Sprintf("%s is owned by %s %s", o.GetName(), ref.Kind, ref.Name))
		}
		for key := range o.GetLabels() {
			if strings.Contains(key, "rollout.slipway.dev") {
				list = append(list, fmt.Sprintf("%s has the label %s", o.GetName(), key))
			}
		}
		for key := range o.GetAnnotations() {
			if strings.Contains(key, "rollout.slipway.dev") {
				list = append(list, fmt.Sprintf("%s has the annotation %s", o.GetName(), key))
			}
		}
	}
	slices.Sort(list)
	return list
}

// String is where the cell stands.
func (c *cell) String() string {
	said := "no rollout"
	if t := c.seen.trait; t != nil {
		said = fmt.Sprintf("%s %s batch %d: %s", t.Status.RollingState, t.Status.BatchRollingState, t.Status.CurrentBatch, t.Status.Message)
	}
	return fmt.Sprintf("%s (%s): %s [%s]", c.name, c.id.Kind, strings.Join(c.wrong(), "; "), said)
}
