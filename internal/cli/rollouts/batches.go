// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/measure"
)

// batches are those that run, or those that would.
func batches(r *Rollout) []rolloutv1alpha1.RunningBatch {
	if running := r.Status.Running; running != nil && len(running.RolloutBatches) > 0 {
		return running.RolloutBatches
	}
	all := engine.Batches(&r.Plan, 0)
	if len(r.Plan.RolloutBatches) == 0 {
		for i := range all { // equal ones need a size, which is not known yet
			all[i].Replicas = nil
		}
	}
	return all
}

// total is how many pods the batches divide; -1 when that is not known yet.
func total(r *Rollout) int {
	s := &r.Status
	switch {
	case s.Running == nil || len(s.Running.RolloutBatches) == 0:
		return -1
	case s.Running.Mode == rolloutv1alpha1.ScaleMode || s.RolloutTargetSize < 0:
		return int(s.Running.Total)
	}
	return int(s.RolloutTargetSize)
}

// body are the batches as rows, with the webhooks and metrics of the current step.
func body(r *Rollout, now time.Time) *sets.Body {
	b := &sets.Body{Columns: []tree.Column{
		{Title: "BATCH"}, {Title: "SIZE"}, {Title: "PODS", Drop: 3}, {Title: "GOAL", Drop: 2}, {Title: "DONE"}, {Title: "READY", Drop: 1}, {Title: "STATE"},
	}}
	all, total := batches(r), total(r)
	var goals []int
	if total >= 0 {
		goals = engine.Goals(all, total)
	}
	before := 0
	for i := range all {
		row := row{rollout: r, at: i, last: i == len(all)-1, total: total}
		if goals != nil {
			row.before, row.goal = before, goals[i]
			before = goals[i]
		}
		node := row.node(all[i])
		if i == int(r.Status.CurrentBatch) && r.Status.RollingState == rolloutv1alpha1.RollingInBatchesState {
			node.Children = append(hooks(r), metrics(r, now)...)
		}
		b.Nodes = append(b.Nodes, node)
	}
	if outside := hooks(r); len(outside) > 0 && r.Status.RollingState != rolloutv1alpha1.RollingInBatchesState {
		b.Nodes = append(b.Nodes, tree.Node{Heading: []tree.Span{{Text: "webhooks", Tone: tree.Strong}}, Children: outside})
	}
	return b
}

// row is one batch, from 0, with how many pods are to be done before it and after it.
type row struct {
	rollout             *Rollout
	at                  int
	last                bool
	before, goal, total int
}

func (b row) node(batch rolloutv1alpha1.RunningBatch) tree.Node {
	mark, state := b.state()
	size := "rest"
	switch {
	case batch.Replicas != nil:
		size = batch.Replicas.String()
	case len(b.rollout.Plan.RolloutBatches) == 0 && b.total < 0:
		size = "equal"
	}
	cells := []tree.Span{{Text: fmt.Sprint(b.at + 1)}, {Text: size}}
	if b.total >= 0 {
		pods := b.goal - b.before
		cells = append(cells, tree.Span{Text: fmt.Sprint(pods)}, tree.Span{Text: fmt.Sprintf("%d of %d", b.goal, b.total)},
			tree.Span{Text: b.share(b.rollout.Status.UpgradedReplicas)}, tree.Span{Text: b.share(b.rollout.Status.UpgradedReadyReplicas)})
	} else {
		cells = append(cells, tree.Span{}, tree.Span{}, tree.Span{}, tree.Span{})
	}
	tone := map[tree.Mark]tree.Tone{tree.Good: tree.Fine, tree.Bad: tree.Wrong, tree.Working: tree.Alert, tree.Paused: tree.Alert}[mark]
	return tree.Node{
		Mark: mark, Cells: append(cells, tree.Span{Text: state, Tone: tone}), Quiet: mark == tree.Good || mark == tree.Waiting,
		Class: map[bool]string{true: "done", false: "to come"}[mark == tree.Good],
	}
}

// share is how many of a number of pods, counted over all batches, fall to this one.
func (b row) share(of int32) string {
	if reverts(&b.rollout.Status) {
		return ""
	}
	n := min(max(int(of)-b.before, 0), b.goal-b.before)
	if s := &b.rollout.Status; n == 0 && (b.at > int(s.CurrentBatch) || s.BatchRollingState == "") {
		return ""
	}
	return fmt.Sprint(n)
}

// state says how a batch is doing.
func (b row) state() (tree.Mark, string) {
	s := &b.rollout.Status
	current := int(s.CurrentBatch)
	begun := s.BatchRollingState != "" && s.Running != nil
	switch {
	case s.RollingState == rolloutv1alpha1.RolloutSucceedState, s.RollingState == rolloutv1alpha1.FinalisingState:
		return tree.Good, "done"
	case reverts(s) && begun:
		return b.goingBack()
	case begun && b.at < current, begun && b.at == current && ends(s) && s.BatchRollingState == rolloutv1alpha1.BatchReadyState:
		return tree.Good, "done"
	case begun && b.at == current && ends(s):
		return tree.Bad, "cut short in " + string(s.BatchRollingState)
	case begun && b.at == current && s.RollingState == rolloutv1alpha1.RollingInBatchesState:
		return b.current()
	case ends(s):
		return tree.Leaving, "does not begin"
	}
	if p := b.rollout.Plan.BatchPartition; p != nil && b.at > int(*p) {
		return tree.Paused, fmt.Sprintf("held back by batchPartition %d", *p)
	}
	return tree.Waiting, "to come"
}

func (b row) current() (tree.Mark, string) {
	s := &b.rollout.Status
	text := string(s.BatchRollingState)
	switch {
	case s.Failure != nil || s.BatchRollingState == rolloutv1alpha1.BatchVerifyFailedState:
		return tree.Bad, text
	case s.BatchRollingState == rolloutv1alpha1.BatchReadyState:
		return tree.Good, text
	case s.WaitingFor == rolloutv1alpha1.WaitingForUnpause:
		return tree.Paused, text + ", paused"
	}
	return tree.Working, text
}

// goingBack is a batch of a rollout that is reverted, the last one first.
func (b row) goingBack() (tree.Mark, string) {
	s := &b.rollout.Status
	switch {
	case s.RollingState.IsFinal():
		return tree.Leaving, "taken back"
	case b.at > int(s.CurrentBatch):
		return tree.Leaving, "taken back, or never begun"
	case b.at == int(s.CurrentBatch):
		return tree.Working, "goes back"
	}
	return tree.Waiting, "still to go back"
}

// hooks are the webhooks of the current step.
func hooks(r *Rollout) []tree.Node {
	s := &r.Status
	var kind rolloutv1alpha1.HookType
	switch engine.StateOf(s) {
	case engine.Initializing:
		kind = rolloutv1alpha1.InitializeRolloutHook
	case engine.BatchInitializing:
		kind = rolloutv1alpha1.PreBatchRolloutHook
	case engine.BatchFinalizing:
		kind = rolloutv1alpha1.PostBatchRolloutHook
	case engine.Finalising, engine.Failing, engine.Abandoning, engine.Deleting:
		kind = rolloutv1alpha1.FinalizeRolloutHook
	default:
		return nil
	}
	asked := s.WaitingFor == rolloutv1alpha1.WaitingForWebhook
	var nodes []tree.Node
	for _, h := range engine.HooksOf(&engine.Rollout{UID: r.UID, Plan: r.Plan, Status: *s}, kind) {
		name := fmt.Sprintf("webhook %s (%s)", h.Name, h.Type)
		at := slices.IndexFunc(s.Hooks, func(a rolloutv1alpha1.HookStatus) bool { return a.Key == h.Key })
		switch {
		case at >= 0 && s.Hooks[at].Passed:
			nodes = append(nodes, told(tree.Good, name+" has passed", s.Hooks[at].Message))
		case at >= 0:
			nodes = append(nodes, told(tree.Bad, name+" has not passed", s.Hooks[at].Message))
		case asked:
			nodes, asked = append(nodes, told(tree.Working, name+" is being called", "")), false
		default:
			nodes = append(nodes, told(tree.Waiting, name+" is still to be called", ""))
		}
	}
	return nodes
}

// metrics are those of the current batch, while it is verified.
func metrics(r *Rollout, now time.Time) []tree.Node {
	s := &r.Status
	if at := engine.StateOf(s); at != engine.BatchVerifying && at != engine.BatchVerifyFailed {
		return nil
	}
	var nodes []tree.Node
	for _, m := range engine.MetricsOf(&r.Plan, int(s.CurrentBatch)) {
		var sofar *rolloutv1alpha1.MetricStatus
		if at := slices.IndexFunc(s.Metrics, func(k rolloutv1alpha1.MetricStatus) bool { return k.Name == m.Name }); at >= 0 {
			sofar = &s.Metrics[at]
		}
		if sofar == nil && s.WaitingFor != rolloutv1alpha1.WaitingForMetric {
			nodes = append(nodes, told(tree.Waiting, fmt.Sprintf("metric %s is measured once the pods are available", m.Name), ""))
			continue
		}
		judged := measure.Judge(&m, sofar)
		mark, when := tree.Good, ""
		switch judged.Outcome {
		case measure.Failed:
			mark = tree.Bad
		case measure.Wait:
			mark = tree.Working
			if left := measure.Due(&m, sofar, now); left > 0 && s.WaitingFor == rolloutv1alpha1.WaitingForMetric {
				when = "next sample in " + sets.Seconds(left)
			}
		case measure.Passed:
		}
		node := told(mark, judged.Message, "")
		if when != "" {
			node.Heading[0].Text += "; " + when
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func told(mark tree.Mark, what, answer string) tree.Node {
	text := strings.Join(slices.DeleteFunc([]string{what, answer}, func(t string) bool { return t == "" }), ": ")
	return tree.Node{Mark: mark, Heading: []tree.Span{{Text: cmp.Or(text, "-")}}}
}
