// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// passes bounds a story.
const passes = 5000

// Options say how the pod sets go about what they are asked for.
type Options struct {
	// Unavailable is how many of its n pods a set takes out of service at once while it updates them.
	Unavailable func(n int) int
	// Recreates says why sets give new templates to new pods only; empty when they change living pods where they can.
	Recreates string
	// ResizeOff: resources of living pods are not changed.
	ResizeOff bool
}

// Of tells what the controller would do in a world from the given time on, until nothing is left to do. It always ends.
// The world is not changed. A person is taken to confirm each group as soon as that is asked for.
func Of(world plan.World, now time.Time, o Options) story.Story {
	world.Deployment = world.Deployment.DeepCopy()
	world.Revisions = slices.Clone(world.Revisions)
	p := &play{world: world, now: now, o: o, units: unitsOf(world), update: world.Deployment.Status.UpdateRevision}
	p.begin()
	for range passes {
		next := plan.Next(p.seen(), p.now)
		p.update = next.Status.UpdateRevision
		if wrong := cannot(next); wrong != nil {
			p.story.Invalid = wrong.Error()
			return p.story
		}
		if p.takes(next) {
			p.now = p.now.Add(time.Second)
			continue
		}
		switch {
		case next.Confirm != "":
			p.answer(next)
		case next.LookAgain > 0:
			p.now = p.now.Add(next.LookAgain)
			p.waited += next.LookAgain
		default:
			return p.end(next)
		}
	}
	p.story.Left = append(p.story.Left, fmt.Sprintf("the story is told for %d passes of the controller only: it is too long", passes))
	return p.story
}

func cannot(next plan.Plan) error {
	if next.Invalid != nil {
		return next.Invalid
	}
	return next.Topology
}

// play is a story while it is told.
type play struct {
	world plan.World
	now   time.Time
	o     Options
	units []*unit
	story story.Story
	// update is the name of the newest revision.
	update string
	order  int
	serial int
	waited time.Duration
}

// begin notes where the story starts from.
func (p *play) begin() {
	d, s := p.world.Deployment, &p.story
	first := plan.Next(p.world, p.now)
	s.Moments = []story.Moment{}
	s.FromRevision, s.ToRevision = p.promoted(first), p.released(first)
	s.Replicas, s.Partition = int(ptr.Deref(d.Spec.Replicas, 1)), int(ptr.Deref(d.Spec.Strategy.Partition, 0))
	s.Strategy, s.Bound = string(d.Spec.Strategy.UpgradeType), "the largest group"
	s.Start = p.count()
	s.Least, s.End = s.Start.Available, s.Start
	p.compare()
	if d.Spec.Strategy.NeedWaitingForConfirm && d.Spec.Strategy.Partition == nil {
		s.Assumed = append(s.Assumed, "a person confirms each group as soon as that is asked for")
	}
	s.Assumed = append(s.Assumed, "every unit has room for its pods")
	if unready := s.Start.Total - s.Start.Available; unready > 0 {
		s.Assumed = append(s.Assumed, step.Counted(unready, "pod is not available now: it is taken to become so by itself", "pods are not available now: they are taken to become so by themselves"))
	}
}

// released is the name of the revision of the template, also before it is in writing.
func (p *play) released(first plan.Plan) string {
	for _, s := range first.Steps {
		if created, is := s.(step.CreateRevision); is {
			return created.Revision.Name
		}
		if renumbered, is := s.(step.RenumberRevision); is {
			return renumbered.Name
		}
	}
	return first.Status.UpdateRevision
}

func (p *play) promoted(first plan.Plan) string {
	if p.world.Deployment.Status.CurrentRevision != "" {
		return p.world.Deployment.Status.CurrentRevision
	}
	return first.Status.CurrentRevision
}

// compare names what changes between the revisions that pods have and the template.
func (p *play) compare() {
	found := map[string]*story.Change{}
	for _, u := range p.units {
		for _, s := range u.sets {
			for name, n := range s.pods {
				if name == p.story.ToRevision || n == 0 {
					continue
				}
				hash := revision.HashOf(name)
				if found[hash] == nil {
					found[hash] = p.change(hash)
				}
				found[hash].Pods += n
			}
		}
	}
	for _, hash := range slices.Sorted(maps.Keys(found)) {
		p.story.Changes = append(p.story.Changes, *found[hash])
	}
}

func (p *play) change(hash string) *story.Change {
	for _, r := range p.world.Revisions {
		if r.Hash != hash || r.Err != nil {
			continue
		}
		d := inplace.Compare(r.Template, p.world.Live.Template)
		if p.o.ResizeOff {
			d = d.WithoutResize()
		}
		c := &story.Change{From: hash, InPlace: d.Possible(), What: d.String(), Forces: d.Refusals}
		if c.InPlace {
			c.Instead = p.o.Recreates
		}
		return c
	}
	return &story.Change{From: hash, Forces: []string{fmt.Sprintf("revision %q is not in the history any more, so nobody knows what changes", hash)}}
}

// takes carries a plan out, tells of it, and returns whether anything has changed.
func (p *play) takes(next plan.Plan) bool {
	var actions []story.Action
	changed := false
	for _, s := range next.Steps {
		changed = true
		if a, worth := p.step(s); worth {
			actions = append(actions, a)
		}
	}
	if !next.Annotates {
		changed = changed || !equality.Semantic.DeepEqual(p.world.Deployment.Status, next.Status)
		p.world.Deployment.Status = *next.Status.DeepCopy()
	}
	p.groups(&next.Status)
	down := 0
	for _, a := range next.Asks {
		changed = true
		told, out := p.ask(a)
		actions, down = append(actions, told...), down+out
	}
	during := p.count()
	during.Available -= down
	p.tell(actions, during)
	for _, u := range p.units {
		changed = u.settle() || changed
	}
	p.follow()
	return changed
}

func (p *play) tell(actions []story.Action, during story.Count) {
	if len(actions) == 0 {
		return
	}
	p.story.Least = min(p.story.Least, during.Available)
	p.story.Moments = append(p.story.Moments, story.Moment{Waited: p.waited, Actions: actions, During: during, After: during})
	p.waited = 0
}

// follow counts what has become of the last moment.
func (p *play) follow() {
	after := p.count()
	p.story.Least, p.story.End = min(p.story.Least, after.Available), after
	if n := len(p.story.Moments); n > 0 {
		p.story.Moments[n-1].After = after
	}
}

// step does what the API server does with a step.
func (p *play) step(s step.Step) (story.Action, bool) {
	told := story.Action{Object: s.Subject(), Why: s.Why()}
	switch s := s.(type) {
	case step.CreateRevision:
		stored := s.Revision.DeepCopy()
		p.serial++
		stored.UID, stored.CreationTimestamp = types.UID(fmt.Sprintf("projected-%d", p.serial)), metav1.NewTime(p.now)
		p.world.Revisions = append(p.world.Revisions, revision.Decode(stored))
		told.Verb = story.RecordRevision
	case step.RenumberRevision:
		for i, r := range p.world.Revisions {
			if r.Name == s.Name {
				stored := r.Object.DeepCopy()
				stored.Revision = s.Number
				p.world.Revisions[i] = revision.Decode(stored)
			}
		}
		told.Verb = story.ReuseRevision
	case step.ForgetRevision:
		p.world.Revisions = slices.DeleteFunc(p.world.Revisions, func(r revision.Revision) bool { return r.Name == s.Name })
		told.Verb = story.ForgetRevision
	case step.Annotate:
		p.annotate(s.Annotations)
		return told, false // what it asks is told when it waits
	default:
		told.Verb = story.Other
	}
	revision.Sort(p.world.Revisions)
	return told, true
}

func (p *play) annotate(change map[string]*string) {
	d := p.world.Deployment
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	for key, value := range change {
		if value == nil {
			delete(d.Annotations, key)
			continue
		}
		d.Annotations[key] = *value
	}
}

// answer tells of a question, and has a person confirm.
func (p *play) answer(next plan.Plan) {
	s := &next.Status
	asked := "the next group"
	if at := int(s.CurrentGroup); at < len(s.Groups) {
		asked = title(s.Groups, at)
	}
	p.tell([]story.Action{{Object: asked, Verb: story.Confirm, Why: next.Confirm}}, p.count())
	p.annotate(map[string]*string{cafev1alpha1.AnnotationUpgradeConfirmed: ptr.To(cafev1alpha1.ConfirmationGiven)})
}

// groups keeps the groups of the release as they stand in writing last.
func (p *play) groups(s *cafev1alpha1.CafeDeploymentStatus) {
	if s.CurrentGroup == 0 {
		return
	}
	strategy := &p.world.Deployment.Spec.Strategy
	before := p.story.Groups
	p.story.Groups, p.story.MaxUnavailable = nil, 0
	for i, g := range s.Groups {
		told := story.Group{
			Title: title(s.Groups, i), Contents: contents(g), Waits: strategy.NeedWaitingForConfirm && strategy.Partition == nil && i > 0,
			Done: i < len(before) && before[i].Done || before == nil && g.Done,
		}
		size := 0
		for _, q := range g.Units {
			size += int(q.Pods - q.New)
		}
		p.story.MaxUnavailable = max(p.story.MaxUnavailable, size)
		p.story.Groups = append(p.story.Groups, told)
	}
}

// end says what is left undone.
func (p *play) end(last plan.Plan) story.Story {
	p.follow()
	p.story.Left = slices.Concat(last.Waits, last.Full, last.Lacks)
	return p.story
}
