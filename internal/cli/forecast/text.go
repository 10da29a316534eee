// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/story"
)

// named is how many pods a line names before it only counts the others.
const named = 3

// Lines lays the forecast out for people. All shows every pod and every moment; else long runs are told in one line.
func (f *Forecast) Lines(all bool) []string {
	t := &text{Forecast: f, all: all}
	t.head()
	t.table()
	t.foot()
	return t.lines
}

type text struct {
	*Forecast
	all   bool
	lines []string
	why   string
}

func (t *text) say(format string, args ...any) {
	t.lines = append(t.lines, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (t *text) head() {
	title := fmt.Sprintf("%s %s/%s", t.title, t.Namespace, t.Name)
	switch {
	case t.Invalid != "":
		t.say("%s: cannot be acted on", title)
	case t.New && t.ToRevision == "":
		t.say("%s: is new", title)
	case t.New:
		t.say("%s: is new, with revision %s", title, t.ToRevision)
	case t.FromRevision == "":
		t.say("%s: has no revision yet", title)
	case t.FromRevision == t.ToRevision:
		t.say("%s: stays at revision %s", title, t.ToRevision)
	default:
		t.say("%s: from revision %s to %s", title, t.FromRevision, cmp.Or(t.ToRevision, "a new one"))
	}
	for _, field := range t.Fields {
		t.say("  %s", field)
	}
	for _, c := range t.Changes {
		t.say("  %s", c)
	}
	for _, group := range t.Groups {
		t.say("  %s", groupLine(group))
	}
	if t.By != "" {
		t.say("  carried out by %s", t.By)
	}
	for _, warning := range t.Warnings {
		t.say("  warning: %s", warning)
	}
}

func groupLine(g story.Group) string {
	switch {
	case g.Done:
		return g.Title + " is over: " + g.Contents
	case g.Waits:
		return g.Title + ": " + g.Contents + ", when a person has confirmed the one before"
	}
	return g.Title + ": " + g.Contents
}

// table has a block for each moment: what is done to which pods, and how many are available then.
func (t *text) table() {
	if len(t.Moments) == 0 {
		return
	}
	t.say("")
	t.say("%-7s %-17s %-7s %s", "MOMENT", "AVAILABLE", "PODS", "WHAT")
	for i := 0; i < len(t.Moments); {
		length, times := t.alike(i)
		for n := range length {
			t.moment(i + n)
		}
		if times > 1 {
			begin, end := i+length, i+length*times
			from, _ := bounds(t.Moments[begin].Actions)
			t.say("%-7s %-17s %-7s the same %d times more", fmt.Sprintf("%d-%d", begin+1, end), available(t.Moments[end-1]),
				span(from, lastOrder(t.Moments[end-1].Actions)), times-1)
		}
		i += length * times
	}
}

// alike tells how often the moments from i on repeat: one alone, or two of which the second follows from the first. They
// do the same to as many pods, for the same reasons. What is not worth a line of its own is told once.
func (t *text) alike(i int) (length, times int) {
	if t.all {
		return 1, 1
	}
	for length := 1; length <= 2; length++ {
		times := 1
		for t.repeats(i, length, times) {
			times++
		}
		if times > 2 {
			return length, times
		}
	}
	return 1, 1
}

// repeats tells whether so many moments from i on come again after so many times.
func (t *text) repeats(i, length, times int) bool {
	if i+length*(times+1) > len(t.Moments) {
		return false
	}
	for n := range length {
		if signature(t.Moments[i+length*times+n]) != signature(t.Moments[i+n]) {
			return false
		}
	}
	return true
}

func signature(m story.Moment) string {
	parts := []string{fmt.Sprint(m.Waited, m.During, m.After)}
	for _, a := range m.Actions {
		parts = append(parts, string(a.Verb), a.From, a.To, a.Why)
	}
	return strings.Join(parts, "\x00")
}

func (t *text) moment(i int) {
	m := t.Moments[i]
	label, counts := fmt.Sprint(i+1), available(m)
	if _, last := bounds(m.Actions); last == 0 {
		counts = "" // no pod is touched
	}
	if m.Waited > 0 {
		t.say("%-7s %-17s %-7s %s pass", "", "", "", m.Waited)
	}
	for _, group := range grouped(m.Actions) {
		from, to := bounds(group)
		t.say("%-7s %-17s %-7s %s: %s", label, counts, span(from, to), heading(group[0]), t.names(group))
		if why := group[0].Why; why != t.why {
			t.say("%-33s because %s", "", why)
			t.why = why
		}
		label, counts = "", ""
	}
}

// grouped puts neighbours together that have the same done to them for the same reason.
func grouped(actions []story.Action) [][]story.Action {
	var groups [][]story.Action
	for i, a := range actions {
		if i > 0 && heading(a) == heading(actions[i-1]) && a.Why == actions[i-1].Why && (a.Order > 0) == (actions[i-1].Order > 0) {
			groups[len(groups)-1] = append(groups[len(groups)-1], a)
			continue
		}
		groups = append(groups, []story.Action{a})
	}
	return groups
}

func heading(a story.Action) string {
	if a.Verb == story.Create && a.To != "" {
		return "create at " + a.To
	}
	return string(a.Verb)
}

func (t *text) names(group []story.Action) string {
	var names []string
	for _, a := range group {
		if len(names) == named && !t.all && len(group) > named+1 {
			names = append(names, fmt.Sprintf("and %d more", len(group)-named))
			break
		}
		names = append(names, a.Object)
	}
	return strings.Join(names, ", ")
}

func bounds(group []story.Action) (from, to int) {
	for _, a := range group {
		if a.Order > 0 && (from == 0 || a.Order < from) {
			from = a.Order
		}
		if a.Order > 0 {
			to = max(to, a.Order+max(a.Pods, 1)-1)
		}
	}
	return from, to
}

func lastOrder(group []story.Action) int {
	_, to := bounds(group)
	return to
}

func span(from, to int) string {
	switch {
	case to == 0:
		return ""
	case from == to:
		return fmt.Sprint(to)
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// available tells how many pods are when the moment's actions are accepted, and when the nodes have followed.
func available(m story.Moment) string {
	return fmt.Sprintf("%d, then %d of %d", m.During.Available, m.After.Available, m.After.Total)
}

func (t *text) foot() {
	t.say("")
	if t.Invalid != "" {
		t.say("nothing is done: %s", t.Invalid)
		return
	}
	if t.Empty() {
		t.say("the controller does nothing: %d of %d pods available", t.End.Available, t.Replicas)
	} else {
		t.say("%s", t.totals())
		t.say("at least %d of %d pods are available at every moment (%d at the beginning; %s allows %d)",
			t.Least, t.Replicas, t.Start.Available, cmp.Or(t.Bound, "maxUnavailable"), max(t.Replicas-t.MaxUnavailable, 0))
		t.say("in the end %d of %d pods are available", t.End.Available, t.End.Total)
	}
	t.list("left undone", t.Left)
	t.list("assumed", append([]string{"nodes are healthy, and start what they are given"}, t.Assumed...))
}

// totals counts what is done, in the order in which it is first done.
func (t *text) totals() string {
	counts := map[story.Verb]int{}
	var order []story.Verb
	for _, a := range t.Pods() {
		if counts[a.Verb] == 0 {
			order = append(order, a.Verb)
		}
		counts[a.Verb] += max(a.Pods, 1)
	}
	if len(order) == 0 {
		return "no pod is touched"
	}
	var parts []string
	for _, verb := range order {
		parts = append(parts, fmt.Sprintf("%s %d", verb, counts[verb]))
	}
	return "pods: " + strings.Join(parts, ", ")
}

func (t *text) list(title string, items []string) {
	for _, item := range items {
		t.say("%s: %s", title, item)
	}
}
