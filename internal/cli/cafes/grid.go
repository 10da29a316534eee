// SPDX-License-Identifier: Apache-2.0

package cafes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/traffic"
)

// cell is a pod with its place.
type cell struct {
	sets.Pod
	unit    string
	updated bool
	// since is when it got its version, as far as it shows.
	since time.Time
	// place is its ordinal; -1 for pods without one.
	place int
}

// grid is the pods by unit and group.
type grid struct {
	deployment *cafev1alpha1.CafeDeployment
	units      []string
	pods       []cell
}

// own are the deployment's pod sets, by UID.
func (s Snapshot) own() map[types.UID]*unstructured.Unstructured {
	own := map[types.UID]*unstructured.Unstructured{}
	for _, set := range s.Sets {
		if pod.IsControlledBy(set, s.Deployment.UID) {
			own[set.GetUID()] = set
		}
	}
	return own
}

func newGrid(s Snapshot, now time.Time) grid {
	g := grid{deployment: s.Deployment, units: slices.Clone(s.Deployment.Spec.Topology.Values)}
	own := s.own()
	components, err := traffic.Components(s.Deployment.Annotations)
	if err != nil {
		components = nil // the pod sets say what is wrong with the names
	}
	for _, p := range s.Pods {
		set := own[pod.ControllerOf(p)]
		if set == nil {
			continue
		}
		c := cell{
			Pod: sets.NewPod(p, s.Deployment.Spec.Strategy.MinReadySeconds, now), unit: set.GetLabels()[cafev1alpha1.LabelUnit],
			updated: isUpdated(s.Deployment, set, p), since: p.CreationTimestamp.Time, place: -1,
		}
		c.Why = cmp.Or(traffic.Waiting(p, components), c.Why)
		if record, err := inplace.RecordOf(p); err == nil && record != nil && record.UpdateTimestamp.After(c.since) {
			c.since = record.UpdateTimestamp.Time
		}
		if n, is := ordinal.Of(set.GetName(), p.Name); is && strings.HasSuffix(string(s.Deployment.Spec.PodSetType), "StatefulSet") {
			c.place = n
		}
		g.pods = append(g.pods, c)
	}
	for _, u := range s.Deployment.Status.Units {
		g.know(u.Name)
	}
	for _, c := range g.pods {
		g.know(c.unit)
	}
	slices.SortFunc(g.pods, byTurn)
	return g
}

func (g *grid) know(unit string) {
	if !slices.Contains(g.units, unit) {
		g.units = append(g.units, unit)
	}
}

// byTurn puts pods into the order in which groups have reached them or may: updated ones by the time, then those that are
// being prepared, and the others as a pod set goes about it, which is from the highest ordinal, and else not known before.
func byTurn(a, b cell) int {
	switch {
	case a.updated && !b.updated:
		return -1
	case b.updated && !a.updated:
		return 1
	case a.updated:
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(b.place, a.place), cmp.Compare(a.Name, b.Name))
	case a.prepares() != b.prepares():
		if a.prepares() {
			return -1
		}
		return 1
	default:
		return cmp.Or(cmp.Compare(b.place, a.place), cmp.Compare(a.Name, b.Name))
	}
}

func (c cell) prepares() bool {
	return c.State == pod.Held || c.State == pod.Draining || c.State == pod.Updating
}

// isUpdated tells whether a pod is on the deployment's update revision. A set that has not looked at its newest spec may still
// name the revision of another template; where it only got other numbers, its pods run the template's images.
func isUpdated(d *cafev1alpha1.CafeDeployment, set *unstructured.Unstructured, p *corev1.Pod) bool {
	if set.GetAnnotations()[cafev1alpha1.AnnotationRevision] != d.Status.UpdateRevision {
		return false
	}
	if d.Spec.PodSetType == cafev1alpha1.ReplicaSetPodSetType {
		return true
	}
	observed, _, _ := unstructured.NestedInt64(set.Object, "status", "observedGeneration") // absent: nothing was observed
	update, _, _ := unstructured.NestedString(set.Object, "status", "updateRevision")
	return pod.HasRevision(p, update) && (observed >= set.GetGeneration() || runsImagesOf(p, &d.Spec.Template))
}

func runsImagesOf(p *corev1.Pod, template *corev1.PodTemplateSpec) bool {
	images := map[string]string{}
	for _, c := range p.Spec.Containers {
		images[c.Name] = c.Image
	}
	return !slices.ContainsFunc(template.Spec.Containers, func(c corev1.Container) bool { return images[c.Name] != c.Image })
}

// body lays the grid out: a line of numbers for each unit, then the groups with their pods.
func (g grid) body() *sets.Body {
	b := &sets.Body{Columns: []tree.Column{{Title: "GROUP"}}}
	for i, unit := range g.units {
		b.Columns = append(b.Columns, tree.Column{Title: cmp.Or(unit, "PODS"), Drop: i})
	}
	b.Columns = append(b.Columns, tree.Column{Title: "WHY", Drop: len(g.units)})
	b.Nodes = append(b.Nodes, g.numbers())
	columns := map[string][]cell{}
	left := map[string][]cell{}
	for _, c := range g.pods {
		if c.IsActive() {
			columns[c.unit] = append(columns[c.unit], c)
		} else {
			left[c.unit] = append(left[c.unit], c)
		}
	}
	before := g.take(columns, func(unit string, has int) int { return has - g.quota(unit) })
	b.Nodes = appendNode(b.Nodes, g.node(g.outside(), tree.None, before, nil))
	for i := range g.deployment.Status.Groups {
		b.Nodes = appendNode(b.Nodes, g.group(i, columns))
	}
	leaving := g.take(left, func(_ string, has int) int { return has })
	b.Nodes = appendNode(b.Nodes, g.node("leaving", tree.None, leaving, nil))
	return b
}

func appendNode(nodes []tree.Node, n tree.Node) []tree.Node {
	if len(n.Children) == 0 {
		return nodes
	}
	return append(nodes, n)
}

// outside is what pods are called that no group has to do with.
func (g grid) outside() string {
	if len(g.deployment.Status.Groups) == 0 {
		return "pods"
	}
	return "in no group"
}

// quota is how many pods of a unit all groups take together.
func (g grid) quota(unit string) int {
	n := 0
	for i := range g.deployment.Status.Groups {
		n += g.share(i, unit)
	}
	return n
}

func (g grid) share(group int, unit string) int {
	for _, u := range g.deployment.Status.Groups[group].Units {
		if u.Name == unit {
			return int(u.Pods)
		}
	}
	return 0
}

// take removes the first pods of each unit, and gives them by unit.
func (g grid) take(columns map[string][]cell, n func(unit string, has int) int) [][]cell {
	taken := make([][]cell, len(g.units))
	for i, unit := range g.units {
		have := columns[unit]
		k := min(max(n(unit, len(have)), 0), len(have))
		taken[i], columns[unit] = have[:k], have[k:]
	}
	return taken
}

// group is one group with its pods.
func (g grid) group(at int, columns map[string][]cell) tree.Node {
	pods := g.take(columns, func(unit string, _ int) int { return g.share(at, unit) })
	wanted := make([]int, len(g.units))
	for i, unit := range g.units {
		wanted[i] = g.share(at, unit)
	}
	d := g.deployment
	name, next := title(d, at), Next(d)
	switch {
	case d.Status.Groups[at].Done:
		return g.node(name+"  done", tree.Good, pods, wanted)
	case at > next:
		return g.node(name+"  after "+strings.TrimPrefix(title(d, at-1), "Beta "), tree.Waiting, pods, wanted)
	case d.Status.Phase == cafev1alpha1.WaitingForConfirmPhase:
		return g.node(name+"  waits for a confirmation", tree.Paused, pods, wanted)
	case d.Status.Phase == cafev1alpha1.PausedPhase:
		return g.node(name+"  paused", tree.Paused, pods, wanted)
	}
	return g.node(name+"  on its way", tree.Working, pods, wanted)
}

// node is a heading with rows of pods, one of each unit in a row. Wanted pods that are not there yet are said to be.
func (g grid) node(heading string, mark tree.Mark, pods [][]cell, wanted []int) tree.Node {
	name, rest, _ := strings.Cut(heading, "  ")
	node := tree.Node{Mark: mark, Heading: []tree.Span{{Text: name, Tone: tree.Strong}}}
	if rest != "" {
		node.Heading = append(node.Heading, tree.Span{Text: "  " + rest, Tone: tree.Faint})
	}
	rows := 0
	for i := range g.units {
		rows = max(rows, len(pods[i]))
		if wanted != nil {
			rows = max(rows, wanted[i])
		}
	}
	for r := range rows {
		row := tree.Node{Cells: []tree.Span{{Text: fmt.Sprint(r + 1), Tone: tree.Faint}}, Quiet: true, Class: "rows of available pods"}
		var why []string
		for i := range g.units {
			var shown tree.Span
			switch {
			case r < len(pods[i]):
				p := pods[i][r]
				shown = p.Cell()
				if !p.updated {
					shown.Text += " (old)"
				}
				row.Quiet = row.Quiet && p.IsAvailable()
				if p.Why != "" {
					why = append(why, p.Name+": "+p.Why)
				}
			case wanted != nil && r < wanted[i]:
				shown, row.Quiet = tree.Span{Icon: tree.Waiting, Text: "to be created", Tone: tree.Faint}, false
			}
			row.Cells = append(row.Cells, shown)
		}
		row.Cells = append(row.Cells, tree.Span{Text: strings.Join(why, "; "), Tone: tree.Alert})
		node.Children = append(node.Children, row)
	}
	return node
}

// numbers is one line about the units: how many pods are updated, and available.
func (g grid) numbers() tree.Node {
	row := tree.Node{Cells: []tree.Span{{Text: "available"}}}
	for _, unit := range g.units {
		desired, exist, available, isNew := -1, 0, 0, 0
		for _, u := range g.deployment.Status.Units {
			if u.Name == unit {
				desired = int(u.Desired)
			}
		}
		for _, c := range g.pods {
			if c.unit != unit || !c.IsActive() {
				continue
			}
			exist++
			if c.IsAvailable() {
				available++
			}
			if c.updated {
				isNew++
			}
		}
		if desired < 0 {
			desired = exist
		}
		cell := tree.Span{Text: fmt.Sprintf("%d of %d, %d new", available, desired, isNew), Tone: tree.Fine}
		if available < desired {
			cell.Tone = tree.Alert
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}
