// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// named is how many pods a line names before it only counts the others.
const named = 5

// Lines lays the outlook out for people. All names every pod; else long lists are cut.
func (o *Outlook) Lines(all bool) []string {
	t := &text{Outlook: o, all: all}
	t.head()
	if o.Ending != Refused {
		t.body()
	}
	t.foot()
	return t.lines
}

type text struct {
	*Outlook
	all   bool
	lines []string
	why   string
}

func (t *text) say(format string, args ...any) {
	t.lines = append(t.lines, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (t *text) head() {
	title := fmt.Sprintf("%s %s/%s", t.Kind, t.Namespace, t.Name)
	switch {
	case t.Ending == Refused:
		t.say("%s: would be refused", title)
	case t.New:
		t.say("%s: is new", title)
	case t.Changed:
		t.say("%s: has another spec, and is at %s", title, t.at())
	default:
		t.say("%s: is at %s", title, t.at())
	}
	t.say("  rollout  %s", t.Change)
	t.say("  plan     %s", t.Plan)
	for _, c := range t.Changes {
		t.say("  %s", c)
	}
	for _, warning := range t.Warnings {
		t.say("  warning: %s", warning)
	}
}

func (t *text) at() string {
	if t.From == "" {
		return "its beginning"
	}
	return t.From
}

// layout has a column for how many pods are available, and one for what happens.
const layout = "%-17s %s"

func (t *text) body() {
	t.part("before the batches", &t.Before)
	for i := range t.Batches {
		b := &t.Batches[i]
		title := fmt.Sprintf("batch %d of %d: %s, goal %d of %d", b.Number, len(t.Batches), b.size(), b.Goal, t.Total)
		switch {
		case b.Past:
			t.say("")
			t.say("%s; it is done", title)
			continue
		case b.Begun:
			title += "; it has begun"
		case b.Held:
			title += "; once a person lets it begin"
		case b.Least < 0:
			t.say("")
			t.say("%s; it is not reached", title)
			continue
		}
		t.say("")
		t.say("%s", title)
		t.happens(&b.Part)
	}
	if len(t.Batches) > 0 {
		t.part("after the batches", &t.After)
	} else {
		t.part("as it ends", &t.After)
	}
}

// size is how many pods a batch takes, with what the plan says where that is something else.
func (b *Batch) size() string {
	pods := step.Counted(b.Pods, "pod", "pods")
	if b.Size == fmt.Sprint(b.Pods) {
		return pods
	}
	return fmt.Sprintf("%s (%s)", pods, b.Size)
}

func (t *text) part(title string, p *Part) {
	if len(p.Waits)+len(p.Moments) == 0 {
		return
	}
	t.say("")
	t.say("%s", title)
	t.happens(p)
}

// happens lists what is waited for and what happens, in their order. Long runs of the same are told in one line.
func (t *text) happens(p *Part) {
	rest := p.Waits
	for i := 0; i < len(p.Moments); {
		for ; len(rest) > 0 && rest[0].After <= i; rest = rest[1:] {
			t.wait(rest[0])
		}
		end := len(p.Moments)
		if len(rest) > 0 {
			end = min(end, rest[0].After)
		}
		t.moment(p.Moments[i])
		run := p.Moments[i:alike(p.Moments, i, end)]
		if i += len(run); t.all || len(run) <= foldedFrom {
			for _, m := range run[1:] {
				t.moment(m)
			}
			continue
		}
		last := run[len(run)-1]
		t.say("  "+layout, available(last), fmt.Sprintf("the same %d times more: %s to %s", len(run)-1,
			run[1].Actions[0].Object, last.Actions[len(last.Actions)-1].Object))
	}
	for _, w := range rest {
		t.wait(w)
	}
}

// foldedFrom is how many of the same are told one by one.
const foldedFrom = 3

// alike is where the moments end that do the same as the one at from, to as many pods.
func alike(all []story.Moment, from, end int) int {
	n := from + 1
	for n < end && signature(all[n]) == signature(all[from]) {
		n++
	}
	return n
}

func signature(m story.Moment) string {
	parts := []string{fmt.Sprint(m.Waited, m.During, m.After)}
	for _, a := range m.Actions {
		parts = append(parts, string(a.Verb), a.From, a.To, a.Why)
	}
	return strings.Join(parts, "\x00")
}

func available(m story.Moment) string {
	return fmt.Sprintf("%d, then %d of %d", m.During.Available, m.After.Available, m.After.Total)
}

func (t *text) wait(w Wait) { t.say("  "+layout, "waits", w.What) }

func (t *text) moment(m story.Moment) {
	counts := available(m)
	if m.Waited > 0 {
		t.say("  "+layout, "", m.Waited.Round(time.Second).String()+" pass")
	}
	for _, group := range grouped(m.Actions) {
		if group[0].Order == 0 {
			t.say("  "+layout, "", heading(group[0])+": "+t.names(group))
			continue
		}
		t.say("  "+layout, counts, heading(group[0])+": "+t.names(group))
		if why := group[0].Why; why != t.why && why != asked {
			t.say("  "+layout, "", "because "+why)
			t.why = why
		}
		counts = ""
	}
}

func heading(a story.Action) string {
	if a.Verb == story.Create && a.To != "" {
		return "create at " + a.To
	}
	return string(a.Verb)
}

// grouped puts neighbours together that have the same done to them for the same reason.
func grouped(actions []story.Action) [][]story.Action {
	var groups [][]story.Action
	for i, a := range actions {
		if i > 0 && heading(a) == heading(actions[i-1]) && a.Why == actions[i-1].Why {
			groups[len(groups)-1] = append(groups[len(groups)-1], a)
			continue
		}
		groups = append(groups, []story.Action{a})
	}
	return groups
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

func (t *text) foot() {
	t.say("")
	if t.Ending == Refused {
		t.say("nothing is done: %s", t.Message)
		return
	}
	if t.moves() {
		t.say("at least %d pods are available at every moment (%d at the beginning, %d in the end)", t.Least, t.Start.Available, t.End.Available)
	}
	switch t.Ending {
	case Succeeds:
		t.say("it %s: %s", t.tense("succeeds", "has succeeded"), t.Message)
	case Fails:
		t.say("it %s: %s", t.tense("fails", "has failed"), t.Message)
	case Waits:
		if waits, found := strings.CutPrefix(t.Message, "waits "); found {
			t.say("it waits %s", waits)
		} else {
			t.say("it waits: %s", t.Message)
		}
	case Gone:
		t.say("%s", t.Message)
	case Refused:
	}
	for _, item := range t.Left {
		t.say("left undone: %s", item)
	}
	for _, item := range append(t.taken(), t.Assumed...) {
		t.say("assumed: %s", item)
	}
}

// tense is for what is still to come, or for what was over at the beginning.
func (t *text) tense(comes, was string) string {
	if t.acts || t.New || t.Changed || t.moves() {
		return comes
	}
	return was
}

// moves tells whether anything happens to pods.
func (t *text) moves() bool {
	happens := func(p *Part) bool {
		return slices.ContainsFunc(p.Moments, func(m story.Moment) bool {
			return slices.ContainsFunc(m.Actions, func(a story.Action) bool { return a.Order > 0 })
		})
	}
	return happens(&t.Before) || happens(&t.After) || slices.ContainsFunc(t.Batches, func(b Batch) bool { return happens(&b.Part) })
}

// taken is what is taken for granted everywhere, as far as it matters here.
func (t *text) taken() []string {
	if !t.moves() {
		return nil
	}
	items := []string{"nodes are healthy, and start what they are given"}
	asks := map[rolloutv1alpha1.WaitingFor]bool{}
	note := func(p *Part) {
		for _, w := range p.Waits {
			asks[w.For] = true
		}
	}
	note(&t.Before)
	for i := range t.Batches {
		note(&t.Batches[i].Part)
	}
	note(&t.After)
	if asks[rolloutv1alpha1.WaitingForWebhook] || asks[rolloutv1alpha1.WaitingForMetric] {
		items = append(items, fmt.Sprintf("webhooks pass and metrics are in range; `slipway rollout approve %s -n %s` passes a step without them", t.typed(), t.Namespace))
	}
	if asks[rolloutv1alpha1.WaitingAtPartition] {
		items = append(items, fmt.Sprintf("`slipway rollout promote %s -n %s` lets each batch begin that waits for a person", t.typed(), t.Namespace))
	}
	if asks[rolloutv1alpha1.WaitingForUnpause] {
		items = append(items, fmt.Sprintf("`slipway rollout resume %s -n %s` ends the pause", t.typed(), t.Namespace))
	}
	return items
}
