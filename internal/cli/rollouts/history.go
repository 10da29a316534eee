// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/tree"
)

// happening is one thing that is known of the past.
type happening struct {
	at         time.Time
	what, text string
	mark       tree.Mark
	// times is how often it was seen.
	times int32
}

// History lays out what is known of the past of a rollout, the oldest first: its events, and its conditions, of which each
// stands where it changed last.
func History(r *Rollout, events []corev1.Event, now time.Time) tree.Document {
	p, headline := phase(r)
	doc := tree.Document{
		Mark: map[bool]tree.Mark{true: tree.Bad, false: tree.None}[OutcomeOf(r) == Failed],
		Head: []tree.Span{{Text: fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name), Tone: tree.Strong}, {Text: "  " + headline}},
		Facts: []tree.Fact{{Name: "rollout", Value: []tree.Span{{Text: Change(r)}}}, {Name: "runs", Value: []tree.Span{{
			Text: fmt.Sprintf("%d; the last one is %s", r.Status.Run, p),
		}}}},
		Columns: []tree.Column{{Title: "WHEN"}, {Title: "AGE", Drop: 1}, {Title: "WHAT"}, {Title: "TEXT"}},
	}
	if a := r.Status.Attempt; a > 0 {
		doc.Facts[1].Value[0].Text += fmt.Sprintf(", and was taken up again %s", count(int(a), "time"))
	}
	for _, h := range happenings(r, events) {
		text := h.text
		if h.times > 1 {
			text += fmt.Sprintf(" (%d times)", h.times)
		}
		doc.Nodes = append(doc.Nodes, tree.Node{Cells: []tree.Span{
			{Text: h.at.UTC().Format(time.DateTime)}, {Text: age(now.Sub(h.at))}, {Icon: h.mark, Text: h.what, Tone: map[tree.Mark]tree.Tone{tree.Bad: tree.Wrong}[h.mark]}, {Text: text},
		}})
	}
	if len(events) == 0 {
		doc.Foot = append(doc.Foot, []tree.Span{{Text: "no events are left: an API server forgets them after a while", Tone: tree.Faint}})
	}
	return doc
}

func happenings(r *Rollout, events []corev1.Event) []happening {
	all := []happening{{at: r.CreationTimestamp.Time, what: "Created", text: "the rollout was created"}}
	for i := range events {
		all = append(all, eventHappening(&events[i]))
	}
	for _, c := range r.Status.Conditions {
		h := happening{at: c.LastTransitionTime.Time, what: fmt.Sprintf("%s=%s", c.Type, c.Status), text: c.Message}
		if h.text == "" {
			h.text = c.Reason
		}
		if c.Type == rolloutv1alpha1.ConditionStalled && c.Status == metav1.ConditionTrue {
			h.mark = tree.Bad
		}
		if c.Type == rolloutv1alpha1.ConditionReady && c.Status == metav1.ConditionTrue {
			h.mark = tree.Good
		}
		all = append(all, h)
	}
	slices.SortStableFunc(all, func(a, b happening) int { return cmp.Or(a.at.Compare(b.at)) })
	return all
}

// eventHappening reads the time and the number from where the newer events have them, or from where the older ones do.
func eventHappening(e *corev1.Event) happening {
	h := happening{what: e.Reason, text: e.Message, at: e.EventTime.Time, times: e.Count}
	switch {
	case e.Series != nil:
		h.at, h.times = e.Series.LastObservedTime.Time, e.Series.Count
	case !e.LastTimestamp.IsZero():
		h.at = e.LastTimestamp.Time
	}
	if h.at.IsZero() {
		h.at = e.CreationTimestamp.Time
	}
	if e.Type == corev1.EventTypeWarning {
		h.mark = tree.Bad
	}
	return h
}
