// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// Live is what there is beside an object.
type Live struct {
	Pods []*corev1.Pod
	// ReplicaSets are those of the namespace, for a Deployment.
	ReplicaSets []*appsv1.ReplicaSet
	// Revisions are those of the namespace, for a StatefulSet or a DaemonSet.
	Revisions []*appsv1.ControllerRevision
	// NodeLabels are the labels of nodes by node name, for a DaemonSet; nil when no node is known.
	NodeLabels map[string]map[string]string
}

// actor is one pod in a story.
type actor struct {
	name string
	// revision is a hash.
	revision     string
	updated      bool
	ready, going bool
	ordinal      int
	node         string
	ownedBy      string
}

// play is a story while it is told.
type play struct {
	story  story.Story
	pods   []*actor
	before []story.Action
	order  int
	// pause is how long a new pod takes to become available after it is ready.
	pause  time.Duration
	waited time.Duration
	fresh  bool
}

// begin notes where the story starts from.
func (p *play) begin() {
	p.story.Moments = []story.Moment{}
	p.story.Start = p.count()
	p.story.Least, p.story.End = p.story.Start.Available, p.story.Start
	if unready := p.story.Start.Total - p.story.Start.Available; unready > 0 {
		p.story.Assumed = append(p.story.Assumed, step.Counted(unready, "pod is not available now: it is taken to become so by itself", "pods are not available now: they are taken to become so by themselves"))
	}
}

// compare names what keeps pods of older revisions from the template: that there is another one is enough.
func (p *play) compare(controller string) {
	found := map[string]int{}
	var order []string
	for _, a := range p.pods {
		if a.updated {
			continue
		}
		if found[a.revision] == 0 {
			order = append(order, a.revision)
		}
		found[a.revision]++
	}
	for _, hash := range order {
		p.story.Changes = append(p.story.Changes, story.Change{From: hash, Pods: found[hash], Forces: []string{"the " + controller + " controller only makes new pods"}})
	}
}

func (p *play) count() (c story.Count) {
	for _, a := range p.pods {
		if !a.going {
			c.Total++
			if a.ready {
				c.Available++
			}
		}
	}
	return c
}

func (p *play) create(a *actor, why string) {
	p.pods = append(p.pods, a)
	p.act(a, story.Create, "", a.revision, why)
	p.fresh = true
}

func (p *play) remove(a *actor, verb story.Verb, to, why string) {
	a.going = true
	p.act(a, verb, a.revision, to, why)
}

func (p *play) act(a *actor, verb story.Verb, from, to, why string) {
	p.order++
	p.before = append(p.before, story.Action{Order: p.order, Object: a.name, Verb: verb, From: spelled(from), To: spelled(to), Why: why})
}

// unrecorded stands for the name of a revision that does not exist yet. Its controller chooses one.
const unrecorded = "?"

func spelled(revision string) string {
	if revision == unrecorded {
		return ""
	}
	return revision
}

// recorded is the revision of an owner that holds a template; unrecorded when there is none.
func (l Live) recorded(owner types.UID, t *corev1.PodTemplateSpec) string {
	wanted := meaning(t)
	for _, stored := range l.Revisions {
		if !pod.IsControlledBy(stored, owner) {
			continue
		}
		if r := revision.Decode(stored); r.Err == nil && equality.Semantic.DeepEqual(r.Template, wanted) {
			return stored.Name
		}
	}
	return unrecorded
}

// turn ends a moment: nodes do all that there is to do. It returns false when nothing was done in it.
func (p *play) turn() bool {
	if len(p.before) == 0 {
		return false
	}
	during := p.count()
	kept := p.pods[:0:0]
	for _, a := range p.pods {
		if !a.going {
			a.ready = true
			kept = append(kept, a)
		}
	}
	p.pods = kept
	after := p.count()
	p.story.Moments = append(p.story.Moments, story.Moment{Waited: p.waited, Actions: p.before, During: during, After: after})
	p.story.Least, p.story.End = min(p.story.Least, during.Available, after.Available), after
	p.before, p.waited = nil, 0
	if p.fresh {
		p.waited, p.fresh = p.pause, false
	}
	return true
}

// settle ends the story.
func (p *play) settle() story.Story {
	for _, a := range p.pods {
		a.ready = true
	}
	p.story.End = p.count()
	p.story.FromRevision, p.story.ToRevision = spelled(p.story.FromRevision), spelled(p.story.ToRevision)
	return p.story
}

func actorOf(c *corev1.Pod, minReady int32, now time.Time) *actor {
	return &actor{name: c.Name, revision: pod.RevisionHash(c), ready: pod.IsAvailable(c, minReady, now), node: c.Spec.NodeName}
}

// alike tells whether two templates mean the same, but for the label of one version of a Deployment.
func alike(a, b *corev1.PodTemplateSpec) bool {
	return equality.Semantic.DeepEqual(meaning(a), meaning(b))
}

func meaning(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	plain := t.DeepCopy()
	delete(plain.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return revision.FromTemplate(plain).Template
}

// limit bounds the moments of a story.
const limit = 20000
