// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// statefulSet is a StatefulSet in a story.
type statefulSet struct {
	play
	set   *appsv1.StatefulSet
	rules StatefulSetRules
	// from and to are hashes of the revisions.
	from, to string
}

// StatefulSet tells what becomes of a StatefulSet with its defaults. Before is the live one; nil when there is none. It
// fails on numbers that cannot be read.
func StatefulSet(wanted, before *appsv1.StatefulSet, live Live, now time.Time) (story.Story, error) {
	rules, err := RulesOfStatefulSet(wanted)
	if err != nil {
		return story.Story{}, err
	}
	p := &statefulSet{set: wanted, rules: rules}
	p.pause = time.Duration(wanted.Spec.MinReadySeconds) * time.Second
	p.cast(before, live, now)
	s := &p.story
	s.By, s.Strategy = "Kubernetes' own StatefulSet controller, as it is documented", string(wanted.Spec.UpdateStrategy.Type)
	s.Replicas, s.MaxUnavailable = int(ptr.Deref(wanted.Spec.Replicas, 1)), rules.Down
	s.Partition = min(max(0, rules.Partition-rules.First), s.Replicas)
	p.begin()
	p.compare("StatefulSet")
	for range limit {
		p.next()
		if !p.turn() {
			p.left()
			return p.settle(), nil
		}
	}
	s.Left = append(s.Left, "the story is too long to be told to its end")
	return p.settle(), nil
}

// cast finds out which pods there are, and on which revisions.
func (p *statefulSet) cast(before *appsv1.StatefulSet, live Live, now time.Time) {
	s := &p.story
	s.FromRevision, s.ToRevision = unrecorded, live.recorded(p.set.UID, &p.set.Spec.Template)
	if before != nil && before.Status.CurrentRevision != "" {
		s.FromRevision = before.Status.CurrentRevision
	}
	if before != nil && s.ToRevision == unrecorded && before.Status.UpdateRevision != "" && alike(&before.Spec.Template, &p.set.Spec.Template) {
		s.ToRevision = before.Status.UpdateRevision
	}
	p.from, p.to = revision.HashOf(s.FromRevision), revision.HashOf(s.ToRevision)
	for _, c := range live.Pods {
		n, member := ordinal.Of(p.set.Name, c.Name)
		if !member || !pod.IsControlledBy(c, p.set.UID) || !pod.IsActive(c) {
			continue
		}
		a := actorOf(c, p.set.Spec.MinReadySeconds, now)
		a.ordinal, a.updated = n, a.revision == p.to
		p.pods = append(p.pods, a)
	}
	p.sort()
}

func (p *statefulSet) sort() {
	slices.SortFunc(p.pods, func(a, b *actor) int { return cmp.Compare(a.ordinal, b.ordinal) })
}

// next decides one pass: what is missing is created from below, what is not wanted goes from above, and what is left is
// updated from above. Where pods are ordered, each of these waits for the one before.
func (p *statefulSet) next() {
	p.sort()
	there := map[int]bool{}
	for _, a := range p.pods {
		there[a.ordinal] = true
	}
	for n := p.rules.First; n <= p.rules.Last; n++ {
		if there[n] {
			continue
		}
		p.born(n)
		if p.rules.Ordered {
			return
		}
	}
	for _, a := range slices.Backward(slices.Clone(p.pods)) {
		if p.rules.Wants(a.ordinal) {
			continue
		}
		p.remove(a, story.Delete, "", "its ordinal is not wanted any more")
		if p.rules.Ordered {
			return
		}
	}
	if len(p.before) > 0 || p.rules.OnDelete {
		return
	}
	taken := 0
	for _, a := range slices.Backward(slices.Clone(p.pods)) {
		if taken < p.rules.Down && !a.updated && a.ordinal >= p.rules.Partition {
			p.remove(a, story.Recreate, p.to, "the template has changed, and pods are updated from the highest ordinal down")
			taken++
		}
	}
}

// born makes a pod: of the revision before where the partition keeps that.
func (p *statefulSet) born(n int) {
	hash := p.to
	if p.rules.Keeps(n) && p.from != unrecorded {
		hash = p.from
	}
	p.create(&actor{name: ordinal.Name(p.set.Name, n), ordinal: n, revision: hash, updated: hash == p.to}, "its ordinal has no pod")
}

// left says what is not done.
func (p *statefulSet) left() {
	old := 0
	for _, a := range p.pods {
		if !a.updated {
			old++
		}
	}
	switch {
	case old == 0:
	case p.rules.OnDelete:
		p.story.Left = append(p.story.Left, step.Counted(old, "pod is", "pods are")+" updated when somebody deletes them (updateStrategy.type is OnDelete)")
	default:
		p.story.Left = append(p.story.Left, step.Counted(old, "pod stays", "pods stay")+" on older revisions, as updateStrategy.rollingUpdate.partition asks")
	}
}
