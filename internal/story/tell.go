// SPDX-License-Identifier: Apache-2.0

package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// pace is how far the time moves with each pass. It stands for however long nodes really take; it is not zero, so
// that what came first is also older.
const pace = time.Second

// work bounds a projection: passes times pods. A large set that goes pod by pod is told in part.
const work = 4_000_000

// Play tells what a controller would do with its set in a scene from now on, until nothing is left to do, and the scene that
// this ends with: another story can go on from there. It always ends. The scene that is given is not changed. Nodes are where new
// pods may go: always to the one with the fewest pods of the set. Without any, each new pod gets a node of its own. At most
// limit passes are told; 0 is as many as can be told in little time.
func Play(set Set, scene Scene, nodes []string, limit int) (Story, Scene) {
	p := newPlay(set, scene, nodes)
	told := p.tell(limit)
	return told, p.scene
}

func (p *play) tell(limit int) Story {
	set := p.set
	first := set.Next(&p.scene)
	p.begin(first)
	if limit == 0 {
		limit = max(200, work/(len(p.scene.Pods)+first.Limits.Replicas+1))
	}
	for range limit {
		next := set.Next(&p.scene)
		if next.Invalid != nil {
			return p.end(next)
		}
		p.take(next)
		if p.settle() || len(next.Steps) > 0 {
			p.count()
			p.scene.Now = p.scene.Now.Add(pace)
			p.count() // a pod may be available by then
			continue
		}
		if next.LookAgain == 0 {
			return p.end(next)
		}
		wait := (next.LookAgain + time.Second - 1).Truncate(time.Second)
		p.scene.Now = p.scene.Now.Add(wait)
		p.waited += wait
		p.count()
	}
	p.story.Left = append(p.story.Left, fmt.Sprintf("the story is told for %d passes of the controller only: it is too long", limit))
	return p.story
}

// play is a story while it is told.
type play struct {
	set    Set
	scene  Scene
	nodes  []string
	story  Story
	order  int
	serial int
	waited time.Duration
	// touched are the pods that changed since the nodes looked at them.
	touched map[types.UID]bool
	// failing are images that do not start now, each with the reason.
	failing map[string]string
	// changes are the differences to the update revision, by the hash of the older one.
	changes map[string]*Change
}

func newPlay(set Set, scene Scene, nodes []string) *play {
	scene.Pods, scene.Claims = slices.Clone(scene.Pods), slices.Clone(scene.Claims)
	if scene.Taken = maps.Clone(scene.Taken); scene.Taken == nil {
		scene.Taken = map[string]bool{}
	}
	sortPods(scene.Pods)
	scene.Strays = slices.Clone(scene.Strays)
	scene.Revisions, scene.Orphans = slices.Clone(scene.Revisions), slices.Clone(scene.Orphans)
	p := &play{set: set, scene: scene, nodes: nodes, failing: map[string]string{}, touched: map[types.UID]bool{}}
	for _, c := range scene.Pods {
		p.touched[c.UID] = true
	}
	p.noteFailing()
	return p
}

// begin notes where the story starts from.
func (p *play) begin(first Pass) {
	s := &p.story
	s.Moments = []Moment{}
	s.FromRevision, s.ToRevision = first.CurrentRevision, first.UpdateRevision
	s.Replicas, s.MaxUnavailable = first.Limits.Replicas, first.Limits.Unavailable
	s.Strategy = p.set.Strategy
	s.MaxSurge, s.Partition = first.Limits.Surge, first.Limits.Partition
	s.Start = p.available()
	s.Least, s.End = s.Start.Available, s.Start
	if first.Invalid == nil {
		p.compare(first)
	}
	p.assume()
}

// compare names what changes between the revisions of living pods and the update revision.
func (p *play) compare(first Pass) {
	p.changes = map[string]*Change{}
	for _, m := range first.Members {
		if m.Updated {
			continue
		}
		hash := pod.RevisionHash(m.Pod)
		if p.changes[hash] == nil {
			p.changes[hash] = p.change(hash)
		}
		p.changes[hash].Pods++
	}
	for _, hash := range slices.Sorted(maps.Keys(p.changes)) {
		p.story.Changes = append(p.story.Changes, *p.changes[hash])
	}
}

func (p *play) change(hash string) *Change {
	for _, r := range slices.Concat(p.scene.Revisions, p.scene.Orphans) {
		if r.Hash == hash && r.Err == nil {
			d := inplace.Compare(r.Template, p.set.Live.Template)
			if p.set.ResizeOff {
				d = d.WithoutResize()
			}
			change := &Change{From: hash, InPlace: d.Possible(), What: d.String(), Forces: d.Refusals}
			if change.InPlace {
				change.Instead = p.set.Instead
			}
			return change
		}
	}
	return &Change{From: hash, Forces: []string{fmt.Sprintf("revision %q is not in the history any more, so nobody knows what changes", hash)}}
}

// take carries the steps of a plan out, and tells of those that people care about.
func (p *play) take(next Pass) {
	var actions []Action
	next.Steps = slices.Clone(next.Steps)
	slices.SortStableFunc(next.Steps, func(a, b step.Step) int { return cmp.Compare(step.StageOf(a), step.StageOf(b)) })
	for _, s := range next.Steps {
		if told, worth := p.action(s, next); worth {
			actions = append(actions, told)
		}
	}
	for _, s := range next.Steps {
		if _, trims := s.(step.TrimPodsToDelete); trims && len(next.Steps) > 1 {
			continue // the controller does it when there is nothing else to write
		}
		p.carryOut(s)
	}
	sortPods(p.scene.Pods)
	p.set.Report(next)
	if len(actions) == 0 {
		return
	}
	if p.waited > 0 {
		p.waited += pace // a wait is counted from the pass before
	}
	during := p.available()
	p.story.Least = min(p.story.Least, during.Available)
	p.story.Moments = append(p.story.Moments, Moment{Waited: p.waited, Actions: actions, During: during, After: during})
	p.waited = 0
}

// action turns a step into an action. Opening a readiness gate is not worth telling: it follows from the update.
func (p *play) action(s step.Step, next Pass) (Action, bool) {
	a := Action{Object: s.Subject(), Verb: verbOf(s), Why: s.Why()}
	if i := p.find(a.Object); a.Verb == Resume && i >= 0 && p.scene.Pods[i].Annotations[kruisev1alpha1.AnnotationInPlaceGrace] == "" {
		a.Verb = Advance
	}
	if a.Verb == "" {
		return a, false
	}
	ofPod := true
	switch a.Verb {
	case RecordRevision, ReuseRevision, AdoptRevision, ForgetRevision, CreateClaim, DeleteClaim, ResizeClaim, GiveClaim, Other:
		ofPod = false
	case Create:
		a.To = pod.RevisionHash(s.(step.CreatePod).Pod)
	default:
		if i := p.find(a.Object); i >= 0 {
			a.From = pod.RevisionHash(p.scene.Pods[i])
		}
		if a.Verb == InPlace || a.Verb == Drain || a.Verb == Recreate {
			a.To = revision.HashOf(next.UpdateRevision)
		}
	}
	if ofPod {
		p.order++
		a.Order = p.order
	}
	return a, true
}

func verbOf(s step.Step) Verb {
	switch s := s.(type) {
	case step.CreatePod:
		return Create
	case step.DeletePod:
		switch s.Cause {
		case step.Recreate:
			return Recreate
		case step.CleanUp:
			return CleanUp
		case step.ScaleIn, step.Chosen:
		}
		return Delete
	case step.ReleasePod:
		return Release
	case step.UpdateInPlace:
		switch {
		case s.Resumes:
			return Resume
		case s.Grace > 0:
			return Drain
		}
		return InPlace
	case step.PatchPod:
		if prepares(s.Patch) {
			return Prepare
		}
		return Label
	case step.SetConditions:
		return ""
	case step.CreateRevision:
		return RecordRevision
	case step.RenumberRevision:
		return ReuseRevision
	case step.AdoptRevision:
		return AdoptRevision
	case step.ForgetRevision:
		return ForgetRevision
	case step.CreateClaim:
		return CreateClaim
	case step.DeleteClaim:
		return DeleteClaim
	case step.ResizeClaim:
		return ResizeClaim
	case step.GiveClaim:
		return GiveClaim
	default:
		return Other
	}
}

// count follows the numbers of the moment that was told last.
func (p *play) count() {
	after := p.available()
	p.story.Least = min(p.story.Least, after.Available)
	p.story.End = after
	if n := len(p.story.Moments); n > 0 {
		p.story.Moments[n-1].After = after
	}
}

// available counts as the planner does.
func (p *play) available() Count {
	var c Count
	asked := member.Set{MinReadySeconds: p.set.MinReadySeconds, Now: p.scene.Now}
	for _, candidate := range p.scene.Pods {
		if !pod.IsActive(candidate) {
			continue
		}
		c.Total++
		if asked.Judge(candidate).Available {
			c.Available++
		}
	}
	return c
}

// end says what is left undone.
func (p *play) end(last Pass) Story {
	p.count() // the time that has passed may have made pods available
	s := &p.story
	if last.Invalid != nil {
		s.Invalid = last.Invalid.Error()
		return *s
	}
	s.Left = append(s.Left, last.Refused...)
	old, waiting := 0, []string{}
	for _, m := range last.Members {
		if !m.Updated {
			old++
		}
		if !m.Available {
			waiting = append(waiting, fmt.Sprintf("pod %s is not available: %s", m.Pod.Name, pod.WaitingFor(m.Pod)))
		}
	}
	switch kept := min(old, last.Limits.Partition); {
	case last.Held != "":
		s.Left = append(s.Left, last.Held)
	case kept > 0:
		s.Left = append(s.Left, fmt.Sprintf("%s on older revisions, as %s asks", step.Counted(kept, "pod stays", "pods stay"), p.set.PartitionField))
	}
	s.Left = append(s.Left, waiting[:min(len(waiting), shown)]...)
	if more := len(waiting) - shown; more > 0 {
		s.Left = append(s.Left, fmt.Sprintf("and %s not available", step.Counted(more, "more pod is", "more pods are")))
	}
	return *s
}

// shown is how many pods are named where all might have the same trouble.
const shown = 5

func (p *play) find(name string) int {
	return slices.IndexFunc(p.scene.Pods, func(c *corev1.Pod) bool { return c.Name == name })
}
