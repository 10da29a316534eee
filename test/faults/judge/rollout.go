// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/audit"
)

// held is the key of the label and of the annotation by which a rollout holds a workload.
const held = "rollout.slipway.dev/held"

// workload is the newest state of what a rollout can be about.
type workload struct {
	meta metav1.ObjectMeta
	kind string
	// replicas are asked for, and keeps of them stay on older templates.
	replicas, keeps int
	images          string
}

func (w *workload) isHeld() bool {
	owned := slices.ContainsFunc(w.meta.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == rolloutv1alpha1.RolloutTraitKind })
	return owned || w.meta.Labels[held] != "" || w.meta.Annotations[held] != ""
}

// running is a rollout since somebody created it.
type running struct {
	name           string
	target, source string // kind and name
	total          int
	goals          []int
	// best is how many pods were on the new version and available at once, so far.
	best  int
	final rolloutv1alpha1.RollingState
	meta  metav1.ObjectMeta
}

// most is how many pods may be on the new version: the batches whose predecessors were there, and one more.
func (r *running) most() int {
	most := r.goals[0]
	for i := 0; i+1 < len(r.goals) && r.best >= r.goals[i]; i++ {
		most = r.goals[i+1]
	}
	return most
}

// change is a write of a rollout or of a workload.
type change struct {
	version  uint64
	event    *audit.Event
	workload *workload
	trait    *rolloutv1alpha1.RolloutTrait
}

// trial is the state of the world while the log is played for rollouts.
type trial struct {
	court
	workloads map[string]*workload
	rollouts  map[string]*running
	// apps are the labels of the pods of each owner.
	apps map[types.UID]string
}

// CheckRollouts plays the log and says what rollouts have broken, in the order of versions: a batch before its turn, an older
// object that was made smaller before the newer one serves, and at the end what still holds a workload.
func CheckRollouts(events []audit.Event, seen []audit.Sighting, o Options) ([]Finding, error) {
	pods, err := entries(events, seen, o.Namespace)
	if err != nil {
		return nil, err
	}
	changes, err := changesOf(events, o.Namespace)
	if err != nil {
		return nil, err
	}
	t := &trial{
		court:     court{Options: o, sets: map[types.UID]*set{}, pods: map[string]*corev1.Pod{}, taken: map[string]loss{}, asked: map[types.UID]string{}},
		workloads: map[string]*workload{}, rollouts: map[string]*running{}, apps: map[types.UID]string{},
	}
	for i := range pods {
		for len(changes) > 0 && changes[0].version < pods[i].version {
			t.take(&changes[0])
			changes = changes[1:]
		}
		if pods[i].pod != nil {
			t.podMoves(&pods[i])
		}
	}
	for i := range changes {
		t.take(&changes[i])
	}
	if o.Finished {
		t.finish()
	}
	return t.findings, nil
}

func changesOf(events []audit.Event, namespace string) ([]change, error) {
	var all []change
	for i := range events {
		e := &events[i]
		if e.Namespace != namespace || !e.Accepted() || e.Verb == "delete" || e.Verb == "deletecollection" || len(e.Answered) == 0 {
			continue
		}
		c, err := changeOf(e)
		if err != nil {
			return nil, fmt.Errorf("%s %s %s: %w", e.Verb, e.Resource, e.Name, err)
		}
		if c.version > 0 {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	return all, nil
}

func changeOf(e *audit.Event) (change, error) {
	c := change{event: e}
	switch {
	case e.Group == rolloutv1alpha1.GroupName && e.Resource == "rollouttraits":
		c.trait = &rolloutv1alpha1.RolloutTrait{}
		if err := json.Unmarshal(e.Answered, c.trait); err != nil {
			return c, fmt.Errorf("decoding a rollout: %w", err)
		}
		c.version = number(c.trait.ResourceVersion)
	case e.Group == "apps" && e.Resource == "deployments" && e.Subresource != "scale":
		var d appsv1.Deployment
		if err := json.Unmarshal(e.Answered, &d); err != nil {
			return c, fmt.Errorf("decoding a Deployment: %w", err)
		}
		c.workload = &workload{meta: d.ObjectMeta, kind: "Deployment", replicas: int(ptr.Deref(d.Spec.Replicas, 1)), images: imagesOf(&d.Spec.Template.Spec)}
	case isSet(e):
		meta, of, _, err := readSet(e.Resource, e.Answered)
		if err != nil {
			return c, err
		}
		kind := map[string]string{"clonesets": kruisev1alpha1.CloneSetKind, "statefulsets": kruisev1beta1.StatefulSetKind}[e.Resource]
		c.workload = &workload{meta: meta, kind: kind, replicas: of.replicas, keeps: of.keeps, images: of.images}
	}
	if c.workload != nil {
		c.version = number(c.workload.meta.ResourceVersion)
	}
	return c, nil
}

func (t *trial) take(c *change) {
	if c.trait != nil {
		t.rolls(c.trait)
		return
	}
	id := c.workload.kind + " " + c.workload.meta.Name
	before := t.workloads[id]
	t.workloads[id] = c.workload
	if before == nil || audit.Product(c.event.UserAgent) != t.Product {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(t.rollouts)) {
		if r := t.rollouts[name]; r.final == "" {
			t.judgeChange(&entry{version: c.version, at: c.event.At, write: c.event}, r, id, before, c.workload)
		}
	}
}

// rolls takes a state of a rollout.
func (t *trial) rolls(trait *rolloutv1alpha1.RolloutTrait) {
	r := t.rollouts[trait.Name]
	if r == nil {
		spec := &trait.Spec
		r = &running{name: trait.Name, target: spec.TargetRef.Kind + " " + spec.TargetRef.Name}
		of := r.target
		if len(spec.SourceRef) > 0 {
			r.source = spec.SourceRef[0].Kind + " " + spec.SourceRef[0].Name
			of = r.source
		}
		w := t.workloads[of]
		if w == nil {
			return // it cannot be judged: the log does not know its size
		}
		r.total, r.goals = w.replicas, goalsOf(spec.RolloutPlan.RolloutBatches, w.replicas)
		t.rollouts[trait.Name] = r
	}
	r.meta = trait.ObjectMeta
	if s := trait.Status.RollingState; s == rolloutv1alpha1.RolloutSucceedState || s == rolloutv1alpha1.RolloutFailedState {
		r.final = s
	}
}

// goalsOf are how many pods are on the new version after each batch.
func goalsOf(batches []rolloutv1alpha1.RolloutBatch, total int) []int {
	goals, sum := make([]int, max(len(batches), 1)), 0
	for i, b := range batches {
		sum = min(sum+share(b.Replicas, "0", total), total)
		goals[i] = sum
	}
	goals[len(goals)-1] = total
	return goals
}

// judgeChange judges a write of the controllers to a workload of a rollout.
func (t *trial) judgeChange(e *entry, r *running, id string, before, now *workload) {
	switch {
	case id == r.target && r.source == "":
		if may := now.replicas - now.keeps; may > before.replicas-before.keeps && may > r.most() {
			t.find(e, Batch, now.meta.Name, "%d pods may be on the new version, and batches with %d have begun: %d of it are available so far", may, r.most(), r.best)
		}
	case id == r.target:
		if now.replicas > before.replicas && now.replicas > r.most() {
			t.find(e, Batch, now.meta.Name, "it is asked for %d pods, and batches with %d have begun: %d of it are available so far", now.replicas, r.most(), r.best)
		}
	case id == r.source && now.replicas < before.replicas:
		if newer := t.servesOf(r, e); newer+now.replicas < r.total {
			t.find(e, Budget, now.meta.Name, "it is left %d pods, and %d of the newer one are available: %d are to be", now.replicas, newer, r.total)
		}
	}
}

// podMoves takes the next state of a pod, and notes how far the rollouts are with it.
func (t *trial) podMoves(e *entry) {
	if app := e.pod.Labels["app"]; app != "" {
		t.apps[ownerOf(e.pod)] = app
	}
	findings := t.findings
	t.podChanges(e)
	t.findings = findings // those are for Check to tell
	for _, r := range t.rollouts {
		if r.final == "" {
			r.best = max(r.best, t.servesOf(r, nil))
		}
	}
}

// servesOf are the available pods on the new version of a rollout. With an entry, those count as well that others have taken so lately
// that nobody has to know.
func (t *trial) servesOf(r *running, e *entry) int {
	kind, name, _ := strings.Cut(r.target, " ")
	target, n := t.workloads[r.target], 0
	if target == nil {
		return 0
	}
	counted := map[string]bool{}
	for _, podName := range slices.Sorted(maps.Keys(t.pods)) {
		p := t.pods[podName]
		of := ownerOf(p) == target.meta.UID && imagesOf(&p.Spec) == target.images
		if kind == "Deployment" {
			of = p.Labels["app"] == name
		}
		if !of {
			continue
		}
		counted[podName] = true
		if active(p) && audit.Available(p, 0, p.CreationTimestamp.Time) || e != nil && t.lately(podName, e.at) {
			n++
		}
	}
	if e == nil {
		return n
	}
	for podName, l := range t.taken { // removed altogether
		if !counted[podName] && t.lately(podName, e.at) && (l.owner == target.meta.UID || kind == "Deployment" && t.apps[l.owner] == name) {
			n++
		}
	}
	return n
}

// finish judges how the rollouts have ended.
func (t *trial) finish() {
	find := func(what Invariant, object, format string, args ...any) {
		t.findings = append(t.findings, Finding{Invariant: what, Object: object, Detail: fmt.Sprintf(format, args...)})
	}
	for _, name := range slices.Sorted(maps.Keys(t.rollouts)) {
		r := t.rollouts[name]
		if r.final != rolloutv1alpha1.RolloutSucceedState {
			find(Finished, name, "its state is %q, want %q", r.final, rolloutv1alpha1.RolloutSucceedState)
		}
		if len(r.meta.Finalizers) > 0 {
			find(Released, name, "it has the finalizers %v", r.meta.Finalizers)
		}
		if n := t.servesOf(r, nil); n != r.total {
			find(Finished, name, "%d pods are on the new version and available, want %d", n, r.total)
		}
		for _, id := range []string{r.target, r.source} {
			if w := t.workloads[id]; w != nil && w.isHeld() {
				find(Released, w.meta.Name, "it is still held: by the owners %v, the label %q and the annotation %q",
					w.meta.OwnerReferences, w.meta.Labels[held], w.meta.Annotations[held])
			}
		}
		if w := t.workloads[r.source]; w != nil && w.replicas != 0 {
			find(Finished, w.meta.Name, "it is asked for %d pods, and the newer one serves", w.replicas)
		}
	}
}
