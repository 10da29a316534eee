// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// daemonSet is a DaemonSet in a story.
type daemonSet struct {
	play
	set *appsv1.DaemonSet
	// nodes are where a pod is to be, by name.
	nodes []string
	rules DaemonSetRules
	to    string
}

// DaemonSet tells what becomes of a DaemonSet with its defaults. Before is the live one; nil when there is none. It fails
// on numbers and node affinities that cannot be read.
func DaemonSet(wanted, before *appsv1.DaemonSet, live Live, now time.Time) (story.Story, error) {
	p := &daemonSet{set: wanted, to: unrecorded}
	p.pause = time.Duration(wanted.Spec.MinReadySeconds) * time.Second
	p.cast(before, live, now)
	if err := p.place(before, live); err != nil {
		return story.Story{}, err
	}
	rules, err := RulesOfDaemonSet(wanted, len(p.nodes))
	if err != nil {
		return story.Story{}, err
	}
	p.rules = rules
	s := &p.story
	s.By, s.Strategy = "Kubernetes' own DaemonSet controller, as it is documented", string(wanted.Spec.UpdateStrategy.Type)
	s.Replicas, s.MaxUnavailable, s.MaxSurge = len(p.nodes), rules.Down, rules.Surge
	p.begin()
	p.compare("DaemonSet")
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
func (p *daemonSet) cast(before *appsv1.DaemonSet, live Live, now time.Time) {
	var newest *corev1.Pod
	for _, c := range live.Pods {
		if !pod.IsControlledBy(c, p.set.UID) || !pod.IsActive(c) {
			continue
		}
		a := actorOf(c, p.set.Spec.MinReadySeconds, now)
		a.node = nodeOf(c)
		p.pods = append(p.pods, a)
		if newest == nil || newest.CreationTimestamp.Before(&c.CreationTimestamp) {
			newest = c
		}
	}
	slices.SortFunc(p.pods, func(a, b *actor) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.name, b.name)) })
	s := &p.story
	s.FromRevision, s.ToRevision = unrecorded, live.recorded(p.set.UID, &p.set.Spec.Template)
	if newest != nil {
		s.FromRevision = pod.RevisionHash(newest)
		if s.ToRevision == unrecorded && before != nil && alike(&before.Spec.Template, &p.set.Spec.Template) {
			s.ToRevision = s.FromRevision // without any history, the newest pod tells
		}
	}
	p.to = revision.HashOf(s.ToRevision)
	s.ToRevision = p.to
	for _, a := range p.pods {
		a.updated = a.revision == p.to
	}
}

// nodeOf is the node that a pod is on, or was made for when it is not on it yet.
func nodeOf(c *corev1.Pod) string {
	if c.Spec.NodeName != "" || c.Spec.Affinity == nil || c.Spec.Affinity.NodeAffinity == nil || c.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return c.Spec.NodeName
	}
	for _, term := range c.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// place finds out where pods are to be: where they are, unless the template says something else of nodes.
func (p *daemonSet) place(before *appsv1.DaemonSet, live Live) error {
	for _, a := range p.pods {
		p.nodes = append(p.nodes, a.node)
	}
	defer func() {
		slices.Sort(p.nodes)
		p.nodes = slices.Compact(p.nodes)
	}()
	if before != nil && sameNodes(&before.Spec.Template.Spec, &p.set.Spec.Template.Spec) {
		return nil
	}
	if live.NodeLabels == nil {
		p.story.Left = append(p.story.Left, "no nodes are known: where pods come and go by nodeSelector, affinity and tolerations is not told")
		return nil
	}
	p.nodes = nil
	for _, name := range slices.Sorted(maps.Keys(live.NodeLabels)) {
		fits, err := fits(&p.set.Spec.Template.Spec, name, live.NodeLabels[name])
		if err != nil {
			return err
		}
		if fits {
			p.nodes = append(p.nodes, name)
		}
	}
	p.story.Assumed = append(p.story.Assumed, "taints keep no pod from a node")
	return nil
}

func sameNodes(a, b *corev1.PodSpec) bool {
	affinity := func(s *corev1.PodSpec) *corev1.NodeAffinity {
		if s.Affinity == nil {
			return nil
		}
		return s.Affinity.NodeAffinity
	}
	return equality.Semantic.DeepEqual(a.NodeSelector, b.NodeSelector) && equality.Semantic.DeepEqual(affinity(a), affinity(b)) &&
		equality.Semantic.DeepEqual(a.Tolerations, b.Tolerations)
}

// fits tells whether a node's labels and name are as a pod asks.
func fits(spec *corev1.PodSpec, name string, has labels.Set) (bool, error) {
	if !labels.SelectorFromSet(spec.NodeSelector).Matches(has) {
		return false, nil
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true, nil
	}
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		all := len(term.MatchExpressions)+len(term.MatchFields) > 0
		for _, part := range []struct {
			asks []corev1.NodeSelectorRequirement
			of   labels.Set
		}{{term.MatchExpressions, has}, {term.MatchFields, labels.Set{metav1.ObjectNameField: name}}} {
			for _, ask := range part.asks {
				r, err := labels.NewRequirement(ask.Key, operator(ask.Operator), ask.Values)
				if err != nil {
					return false, fmt.Errorf("spec.template.spec.affinity.nodeAffinity: %w", err)
				}
				all = all && r.Matches(part.of)
			}
		}
		if all {
			return true, nil
		}
	}
	return false, nil
}

// operator is that of labels: they spell it with small letters.
func operator(o corev1.NodeSelectorOperator) selection.Operator {
	switch o {
	case corev1.NodeSelectorOpDoesNotExist:
		return selection.DoesNotExist
	default:
		return selection.Operator(strings.ToLower(string(o)))
	}
}

// next decides one pass: pods come and go with nodes, and then some are updated.
func (p *daemonSet) next() {
	on := map[string][]*actor{}
	for _, a := range p.pods {
		on[a.node] = append(on[a.node], a)
	}
	for _, node := range p.nodes {
		if len(on[node]) == 0 {
			p.born(node, "its node has no pod")
		}
	}
	for _, a := range slices.Clone(p.pods) {
		if !slices.Contains(p.nodes, a.node) {
			p.remove(a, story.Delete, "", "no pod is to be on its node any more")
		}
	}
	if p.rules.OnDelete {
		return
	}
	if p.rules.Surge > 0 {
		p.surges(on)
		return
	}
	taken := 0
	for _, node := range p.nodes {
		if len(on[node]) == 0 || !on[node][0].ready {
			taken++
		}
	}
	for _, node := range p.nodes {
		for _, a := range on[node] {
			switch {
			case a.updated:
			case !a.ready:
				p.remove(a, story.Recreate, "", "the template has changed, and it is not available anyway")
			case taken < p.rules.Down:
				p.remove(a, story.Recreate, "", fmt.Sprintf("the template has changed, and %s may be unavailable", step.Counted(p.rules.Down, "pod", "pods")))
				taken++
			}
		}
	}
}

// surges makes new pods beside older ones, which go when their successors are available.
func (p *daemonSet) surges(on map[string][]*actor) {
	made := 0
	for _, node := range p.nodes {
		var old, updated *actor
		for _, a := range on[node] {
			if a.updated {
				updated = a
			} else {
				old = a
			}
		}
		switch {
		case old == nil:
		case updated != nil && updated.ready:
			p.remove(old, story.Recreate, "", "its successor is available")
		case updated == nil && made < p.rules.Surge:
			p.born(node, fmt.Sprintf("the template has changed, and %s may be there besides", step.Counted(p.rules.Surge, "pod", "pods")))
			made++
		}
	}
}

func (p *daemonSet) born(node, why string) {
	p.create(&actor{name: "new pod on " + node, node: node, revision: p.to, updated: true}, why)
}

// left says what is not done.
func (p *daemonSet) left() {
	old := 0
	for _, a := range p.pods {
		if !a.updated {
			old++
		}
	}
	if old > 0 {
		p.story.Left = append(p.story.Left, step.Counted(old, "pod is", "pods are")+" updated when somebody deletes them (updateStrategy.type is OnDelete)")
	}
}
