// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/audit"
)

// told is where a rollout is, in one line. Pods are not named: they are waited for all the time.
func told(t *rolloutv1alpha1.RolloutTrait) string {
	s := &t.Status
	if s.RollingState == "" {
		return "(nobody has looked at it yet)"
	}
	message, _, _ := strings.Cut(s.Message, "; waiting for pod")
	return fmt.Sprintf("%-17s %d of %d changed, %d available: %s", s.RollingState, s.UpgradedReplicas, max(s.RolloutTargetSize, 0), s.UpgradedReadyReplicas, message)
}

// serving counts pods that are available.
func serving(pods []*corev1.Pod) int {
	n := 0
	for _, p := range pods {
		if audit.Available(p, 0, time.Now()) {
			n++
		}
	}
	return n
}

func running(pods []*corev1.Pod, image string) int {
	n := 0
	for _, p := range pods {
		if runs(p, image) {
			n++
		}
	}
	return n
}

// crowd is how many pods of several owners there were together.
type crowd struct {
	// least is the fewest available ones at any moment, and most is the most that existed.
	least, most, states int
}

// together adds up the pods of several owners at each moment of a window.
func together(w audit.Window, histories ...*audit.History) crowd {
	type change struct {
		of int
		audit.Moment
	}
	var changes []change
	now := make([]audit.Moment, len(histories))
	for i, h := range histories {
		moments := h.Moments(w, 0)
		now[i] = moments[0] // how the window began
		for _, m := range moments[1:] {
			changes = append(changes, change{i, m})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.Version, b.Version) })
	available, pods := sum(now)
	c := crowd{least: available, most: pods, states: 1 + len(changes)}
	for _, next := range changes {
		now[next.of] = next.Moment
		available, pods = sum(now)
		c.least, c.most = min(c.least, available), max(c.most, pods)
	}
	return c
}

func sum(moments []audit.Moment) (available, pods int) {
	for _, m := range moments {
		available, pods = available+m.Available, pods+m.Pods
	}
	return available, pods
}

// testify counts the pods of several applications from a version of the cluster on.
func (p *rollout) testify(ctx context.Context, from uint64, apps ...string) (crowd, error) {
	var histories []*audit.History
	for _, app := range apps {
		h, err := p.history(ctx, app)
		if err != nil {
			return crowd{}, err
		}
		histories = append(histories, h)
	}
	return together(audit.Window{From: from}, histories...), nil
}

func (p *rollout) history(ctx context.Context, app string) (*audit.History, error) {
	pods, err := p.podsOf(ctx, app)
	if err != nil {
		return nil, err
	}
	owner, err := p.ownerOf(ctx, app)
	if err != nil {
		return nil, err
	}
	return p.witness.testify(ctx, owner, pods)
}

// judgeSet looks at a rollout of the CloneSet: ever is how many pods may have had the released image at any time, and last is the
// image that all have in the end.
func (p *rollout) judgeSet(ctx context.Context, from uint64, released, last string, ever int) error {
	h, err := p.history(ctx, rolledSet)
	if err != nil {
		return err
	}
	e := evidence{history: h, window: audit.Window{From: from}}
	a := newAccount(e, rolledPods, perBatch, last)
	got := h.Ever(e.window, func(pod *corev1.Pod) bool { return runs(pod, released) })
	p.say("pods         %d of %d kept their UID and IP, %d run %s, %d ever had %s", a.Kept, a.Replicas, a.Got, last, len(got), released)
	p.say("unavailable  at most %d at any time, %d allowed (%d states seen)", a.Worst, a.Allowance, a.States)
	p.broken = append(p.broken, a.Broken(rolledPods)...)
	p.promise(len(got) <= ever, "%d pods had %s, %d were to", len(got), released, ever)
	return nil
}

// free looks for what rollouts have left on workloads.
func (p *rollout) free(ctx context.Context) error {
	all, err := p.left(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		marks := marksOn(o)
		p.promise(len(marks) == 0, "%s still has %s", o.GetName(), strings.Join(marks, ", "))
	}
	return nil
}

// left tells what rollouts have left on each workload, and returns the workloads.
func (s *stage) left(ctx context.Context) ([]client.Object, error) {
	s.begin("Nothing of the rollouts is left on what they have moved")
	all, err := s.workloads(ctx)
	for _, o := range all {
		s.say("%s: %d owners, labels and annotations of a rollout", o.GetName(), len(marksOn(o)))
	}
	return all, err
}

// workloads are the Deployments and CloneSets of the demo.
func (s *stage) workloads(ctx context.Context) ([]client.Object, error) {
	deployments, sets := &appsv1.DeploymentList{}, &kruisev1alpha1.CloneSetList{}
	for _, list := range []client.ObjectList{deployments, sets} {
		if err := s.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("listing workloads: %w", err)
		}
	}
	var all []client.Object
	for i := range deployments.Items {
		all = append(all, &deployments.Items[i])
	}
	for i := range sets.Items {
		all = append(all, &sets.Items[i])
	}
	return all, nil
}

// marksOn is what a rollout puts on a workload that it holds.
func marksOn(o client.Object) []string {
	var marks []string
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == rolloutv1alpha1.RolloutTraitKind || ref.Kind == oamv1beta1.AppRolloutKind {
			marks = append(marks, "owner "+ref.Name)
		}
	}
	if _, found := o.GetLabels()[rolloutv1alpha1.LabelHeld]; found {
		marks = append(marks, "label "+rolloutv1alpha1.LabelHeld)
	}
	if slices.Contains(slices.Collect(maps.Keys(o.GetAnnotations())), rolloutv1alpha1.AnnotationHeld) {
		marks = append(marks, "annotation "+rolloutv1alpha1.AnnotationHeld)
	}
	return marks
}
