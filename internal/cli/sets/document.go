// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"

	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/pod"
)

// Document lays a view out as a tree: the set, its revisions, their pods. Wide adds the images of each pod.
func (v View) Document(wide bool) tree.Document {
	doc := tree.Document{
		Mark:  v.Phase.mark(),
		Head:  []tree.Span{{Text: v.Kind + " " + v.Namespace + "/" + v.Name, Tone: tree.Strong}, {Text: "  " + v.Headline, Tone: tone(v.Phase.mark())}},
		Facts: slices.Concat(v.inNumbers(), v.facts(), v.conditions()),
		Columns: []tree.Column{
			{Title: "POD"}, {Title: "STATE", Min: 11}, {Title: "READY", Drop: 1}, {Title: "RESTARTS", Drop: 2},
			{Title: "AGE", Min: 4, Drop: 3}, {Title: "IP", Drop: 4}, {Title: "NODE", Drop: 5},
		},
	}
	if wide {
		doc.Columns = append(doc.Columns, tree.Column{Title: "IMAGES", Drop: 6})
	}
	doc.Columns = append(doc.Columns, tree.Column{Title: "WHY"})
	if v.Body != nil {
		doc.Columns, doc.Nodes = v.Body.Columns, v.Body.Nodes
		return doc
	}
	for _, r := range v.Revisions {
		doc.Nodes = append(doc.Nodes, r.node(wide))
	}
	for _, g := range v.Others {
		doc.Nodes = append(doc.Nodes, g.node())
	}
	return doc
}

// inNumbers are the facts that every set has.
func (v View) inNumbers() []tree.Fact {
	if v.Podless {
		return nil
	}
	return []tree.Fact{{Name: "pods", Value: v.numbers()}, {Name: "strategy", Value: []tree.Span{{Text: v.Strategy}}}}
}

func (v View) numbers() []tree.Span {
	spans := []tree.Span{{Text: fmt.Sprintf("%d wanted, %d exist, %d updated, %d ready, ", v.Desired, v.Total, v.Updated, v.Ready)}}
	available := tree.Span{Text: fmt.Sprintf("%d available", v.Available), Tone: tree.Fine}
	if v.Available < v.Desired {
		available.Tone = tree.Alert
	}
	return append(spans, available)
}

func (v View) facts() []tree.Fact {
	facts := make([]tree.Fact, 0, len(v.Facts))
	for _, f := range v.Facts {
		facts = append(facts, tree.Fact{Name: f.Name, Value: []tree.Span{{Text: f.Text, Tone: attention(f.Alert)}}})
	}
	return facts
}

// Limit is a number of pods as people see it, with the percentage that it comes from, if it was written as one.
func Limit(n int, written *intstr.IntOrString) string {
	if written != nil && written.Type == intstr.String {
		return fmt.Sprintf("%d (%s)", n, written.StrVal)
	}
	return fmt.Sprint(n)
}

// conditions leaves out those that say that nothing is wrong.
func (v View) conditions() []tree.Fact {
	var facts []tree.Fact
	for _, c := range v.Conditions {
		if c.Quiet {
			continue
		}
		fact := tree.Span{Text: strings.Trim(c.Reason+": "+c.Message, ": ")}
		if c.Trouble {
			fact.Tone = tree.Wrong
		}
		name := c.Type
		if name == conditionReady {
			name = "not ready"
		}
		facts = append(facts, tree.Fact{Name: name, Value: []tree.Span{fact}})
	}
	return facts
}

func (r Revision) title() string {
	switch {
	case r.Hash == "":
		return "no revision"
	case r.Number == 0:
		return "revision " + r.Name
	default:
		return fmt.Sprintf("revision %d %s", r.Number, r.Name)
	}
}

func (r Revision) role() string {
	switch {
	case r.Current:
		return "current"
	case r.Update:
		return "new"
	default:
		return "older"
	}
}

func (r Revision) node(wide bool) tree.Node {
	heading := []tree.Span{{Text: r.title(), Tone: tree.Strong}, {Text: " (" + r.role() + ")", Tone: tree.Faint}}
	counts := count(len(r.Pods), "pod")
	if len(r.Pods) > 0 {
		counts += fmt.Sprintf(", %d available", r.Available)
	}
	heading = append(heading, tree.Span{Text: "  " + counts, Tone: tree.Faint})
	if len(r.Images) > 0 { // last, since images are long and may be cut
		heading = append(heading, tree.Span{Text: "  " + join(r.Images)})
	}
	node := tree.Node{Heading: heading}
	for _, p := range r.Pods {
		node.Children = append(node.Children, p.node(wide))
	}
	return node
}

func (p Pod) node(wide bool) tree.Node {
	mark := p.mark()
	cells := []tree.Span{
		{Text: p.Name}, {Text: p.State.String(), Tone: tone(mark)}, {Text: fmt.Sprintf("%d/%d", p.ReadyContainers, p.Containers)},
		{Text: fmt.Sprint(p.Restarts)}, {Text: age(p.Age)}, {Text: orDash(p.IP)}, {Text: orDash(p.Node)},
	}
	if wide {
		cells = append(cells, tree.Span{Text: join(p.Images)})
	}
	cells = append(cells, tree.Span{Text: strings.Join(slices.DeleteFunc([]string{p.Note, p.Why}, isEmpty), "; "), Tone: tone(mark)})
	return tree.Node{
		Mark: mark, Cells: cells, Quiet: p.available && p.Note == "", Class: strings.ToLower(p.State.String()), Children: nodes(p.Lines),
	}
}

// Cell is the pod as a cell of a table: its mark, its name, and its state unless it is available.
func (p Pod) Cell() tree.Span {
	cell := tree.Span{Icon: p.mark(), Text: p.Name, Tone: tone(p.mark())}
	if !p.available {
		cell.Text += " " + p.State.String()
	}
	return cell
}

func isEmpty(text string) bool { return text == "" }

func (g Group) node() tree.Node {
	node := tree.Node{Heading: []tree.Span{{Text: g.Title, Tone: tree.Strong}}}
	for _, r := range g.Rows {
		node.Children = append(node.Children, tree.Node{
			Mark: tree.Waiting, Cells: []tree.Span{{Text: r.Name}, {Text: r.State, Tone: tree.Alert}}, Class: strings.ToLower(r.State), Children: nodes(r.Lines),
		})
	}
	return node
}

func nodes(lines []Line) []tree.Node {
	var below []tree.Node
	for _, l := range lines {
		below = append(below, tree.Node{Heading: []tree.Span{{Text: l.Text, Tone: attention(l.Alert)}}})
	}
	return below
}

func attention(alert bool) tree.Tone {
	if alert {
		return tree.Alert
	}
	return tree.Plain
}

func (p Pod) mark() tree.Mark {
	switch p.State {
	case pod.Available:
		return tree.Good
	case pod.Failing, pod.Finished:
		return tree.Bad
	case pod.Terminating:
		return tree.Leaving
	case pod.Held:
		return tree.Paused
	case pod.Draining, pod.Updating:
		return tree.Working
	case pod.Pending, pod.Starting, pod.NotReady, pod.Ready:
		return tree.Waiting
	}
	return tree.None
}

func tone(mark tree.Mark) tree.Tone {
	switch mark {
	case tree.Good:
		return tree.Fine
	case tree.Bad:
		return tree.Wrong
	case tree.Leaving:
		return tree.Faint
	case tree.Working, tree.Waiting, tree.Paused:
		return tree.Alert
	case tree.None:
		return tree.Plain
	}
	return tree.Plain
}

func age(d time.Duration) string {
	// An object may be a moment from the future, by the clock of this machine.
	return duration.HumanDuration(max(d, 0))
}

// Seconds is a wait in whole seconds, rounded up: it is not over before it is over.
func Seconds(d time.Duration) string {
	return fmt.Sprintf("%ds", (d+time.Second-1)/time.Second)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
