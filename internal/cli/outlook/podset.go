// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// pace is how long nodes take for what they are asked for.
const pace = time.Second

// podset is a set of pods of Kubernetes itself: how its controller recreates pods for a new template by the rules of package builtin, in the
// order of its kind.
type podset struct {
	*play
	w        *workload
	template *corev1.PodTemplateSpec
	// asked says how pods are judged, and why they are recreated.
	asked *member.Set
	// size is how many pods there are to be. names are those of its pods, by position; nil where they are made up.
	size  int
	names []string
	// old tells of a pod that is made new, by its position, that it is of the revision of before; nil for never.
	old func(position int) bool
	// turn are those of the pods behind that are to be recreated, first in front; nil when somebody else deletes them.
	turn func(behind []*corev1.Pod) []*corev1.Pod
	// atOnce is how many may be unavailable then; besides: so many may be there besides instead, and an older pod goes when its new one
	// is available.
	atOnce  int
	besides bool
	// fields are the fields of the status that its counts stand in.
	fields func(counts) map[string]any

	pods            []*corev1.Pod
	update, current revision.Revision
	moments         []story.Moment
}

// follow has it become what is asked for.
func (s *podset) follow(p *play, w *workload) ([]story.Moment, error) {
	s.play, s.w = p, w
	s.pods = slices.DeleteFunc(p.podsOf(w.object), func(c *corev1.Pod) bool { return !pod.IsActive(c) })
	if err := s.record(); err != nil {
		return nil, err
	}
	s.noteFailing()
	s.settle()
	s.replace()
	s.resize()
	for passes := len(s.pods); passes > 0 && s.recreate(); passes-- {
	}
	p.setPods(w.object, s.pods)
	s.asked.Now = s.now
	c := countsOf(s.asked, s.pods, s.update.Name)
	return s.moments, w.reportCounts(c, s.fields(c), s.current.Name, s.update.Name, s.size)
}

// record finds the revision of the template, as the controller of the set does.
func (s *podset) record() error {
	var own []revision.Revision
	for _, r := range s.revisions {
		if pod.IsControlledBy(r, s.w.object.GetUID()) {
			own = append(own, revision.Decode(r))
		}
	}
	entry := revision.Books{
		Owner: s.w.object, Reference: s.reference(), Live: revision.FromTemplate(s.template), Own: own, Current: statusText(s.w.object, "currentRevision"),
	}.Record()
	if entry.Err != nil {
		return entry.Err
	}
	for _, written := range entry.Steps {
		switch written := written.(type) {
		case step.CreateRevision:
			made := written.Revision.DeepCopy()
			own = append(own, revision.Decode(made))
			s.tell([]story.Action{{Object: made.Name, Verb: story.RecordRevision, Why: written.Why()}}, s.count())
		case step.RenumberRevision:
			at := slices.IndexFunc(own, func(r revision.Revision) bool { return r.Name == written.Name })
			again := own[at].Object.DeepCopy()
			again.Revision = written.Number
			own[at] = revision.Decode(again)
		default: // the books have no others: it was given no orphans
		}
	}
	revision.Sort(own)
	s.setRevisions(s.w, own)
	s.update, s.current, s.asked.Update = entry.Update, entry.Current, entry.Update
	return nil
}

func (s *podset) reference() metav1.OwnerReference {
	return *metav1.NewControllerRef(s.w.object, s.w.object.GroupVersionKind())
}

// replace makes the pods anew that the rollout itself has deleted.
func (s *podset) replace() {
	if gone := s.w.recreated; len(gone) > 0 {
		during := s.count()
		for range gone {
			s.pods = append(s.pods, s.make(s.free(), s.update))
		}
		s.tell(gone, during)
	}
}

// free is the name of a pod that is missing, or one that is made up.
func (s *podset) free() string {
	for _, name := range s.names {
		if s.find(name) < 0 {
			return name
		}
	}
	for n := 1; ; n++ {
		if name := fmt.Sprintf("%s-new%d", s.w.object.GetName(), n); s.find(name) < 0 {
			return name
		}
	}
}

func (s *podset) find(name string) int {
	return slices.IndexFunc(s.pods, func(c *corev1.Pod) bool { return c.Name == name })
}

// resize makes the pods that are missing, and deletes those that are too many, the highest position first.
func (s *podset) resize() {
	var actions []story.Action
	why := fmt.Sprintf("%s wanted", step.Counted(s.size, "pod is", "pods are"))
	over := slices.DeleteFunc(slices.Clone(s.pods), func(c *corev1.Pod) bool { return s.names == nil || slices.Contains(s.names, c.Name) })
	for _, c := range slices.Backward(over) {
		actions = append(actions, story.Action{Object: c.Name, Verb: story.Delete, From: pod.RevisionHash(c), Why: why})
		s.pods = slices.DeleteFunc(s.pods, func(other *corev1.Pod) bool { return other == c })
	}
	if len(actions) > 0 {
		s.tell(actions, s.count())
	}
	actions = nil
	during := s.count()
	for missing := s.size - len(s.pods); missing > 0; missing-- {
		name, of := s.free(), s.update
		if s.old != nil && s.old(slices.Index(s.names, name)) && s.current.Template != nil {
			of = s.current
		}
		made := s.make(name, of)
		s.pods = append(s.pods, made)
		actions = append(actions, story.Action{Object: name, Verb: story.Create, To: pod.RevisionHash(made), Why: why})
	}
	if len(actions) > 0 {
		s.tell(actions, during)
	}
}

// recreate recreates the next pods. It returns false when none is left, or none may be.
func (s *podset) recreate() bool {
	if s.turn == nil {
		return false
	}
	s.asked.Now = s.now
	var behind []*corev1.Pod
	down := 0
	for _, c := range s.pods {
		if !pod.HasRevision(c, s.update.Name) {
			behind = append(behind, c)
		}
		if !s.asked.Judge(c).Available {
			down++
		}
	}
	due := s.turn(behind)
	due = due[:min(len(due), max(s.atOnce-down, 0))]
	if len(due) == 0 {
		return false
	}
	var actions []story.Action
	during := s.count()
	for _, c := range due {
		actions = append(actions, story.Action{
			Object: c.Name, Verb: story.Recreate, From: pod.RevisionHash(c), To: s.update.Hash, Why: s.asked.UpdateOf(s.asked.Judge(c)).Step.Why(),
		})
		if s.besides {
			during.Total++
		} else {
			during.Available--
		}
		s.renew(c)
	}
	s.tell(actions, during)
	return true
}

// renew puts a new pod in the place of an older one. One that was to become available first, and does not, stands beside it.
func (s *podset) renew(c *corev1.Pod) {
	made := s.make(c.Name, s.update)
	if s.besides && !pod.IsReady(made) {
		made.Name = s.free()
		s.pods = append(s.pods, made)
		return
	}
	s.pods[s.find(c.Name)] = made
}

// tell adds a moment, and lets the time pass until its pods are available.
func (s *podset) tell(actions []story.Action, during story.Count) {
	m := story.Moment{Actions: actions, During: during}
	least := time.Duration(s.asked.MinReadySeconds) * time.Second
	if len(s.moments) > 0 {
		m.Waited = least
	}
	s.now = s.now.Add(pace + least)
	m.After = s.count()
	s.moments = append(s.moments, m)
}

func (s *podset) count() story.Count {
	s.asked.Now = s.now
	c := countsOf(s.asked, s.pods, s.update.Name)
	return story.Count{Available: c.available, Total: c.pods}
}

// counts are of the active pods of a set.
type counts struct{ pods, ready, available, updated, updatedReady, updatedAvailable int }

func countsOf(asked *member.Set, pods []*corev1.Pod, updateRevision string) counts {
	var n counts
	for _, c := range pods {
		if !pod.IsActive(c) {
			continue
		}
		m := asked.Judge(c)
		on := pod.HasRevision(c, updateRevision)
		n.pods++
		n.ready, n.updatedReady = n.ready+one(m.Ready), n.updatedReady+one(m.Ready && on)
		n.available, n.updatedAvailable = n.available+one(m.Available), n.updatedAvailable+one(m.Available && on)
		n.updated += one(on)
	}
	return n
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// fields are those of most kinds.
func (n counts) fields() map[string]any {
	return map[string]any{
		"replicas": n.pods, "readyReplicas": n.ready, "availableReplicas": n.available,
		"updatedReplicas": n.updated, "updatedReadyReplicas": n.updatedReady, "updatedAvailableReplicas": n.updatedAvailable,
	}
}
