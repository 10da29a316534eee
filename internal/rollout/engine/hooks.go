// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// lastCalls is how many times a webhook at the end is called that does not answer. It must hold back neither a deletion nor
// what is newer.
const lastCalls = 5

// hooks calls the webhooks of a type one after the other: those of the plan, then those of the batch. It waits until all
// have passed.
func (m *machine) hooks(kind rolloutv1alpha1.HookType, phase string) (verdict, bool) {
	for _, hook := range m.hooksOf(kind) {
		answer := m.answer(hook)
		switch {
		case answer != nil && answer.Passed:
			continue
		case answer != nil:
			return m.fail("WebhookRejected", fmt.Sprintf("webhook %s (%s) rejects it: %s", hook.Name, hook.Type, answer.Message)), true
		}
		return m.call(hook, phase), true
	}
	return verdict{}, false
}

// lastHooks calls the webhooks of the end. What they answer changes nothing, and is told.
func (m *machine) lastHooks(phase string) (verdict, bool) {
	if m.status.Running == nil {
		return verdict{}, false // the first ones were never called
	}
	for _, hook := range m.hooksOf(rolloutv1alpha1.FinalizeRolloutHook) {
		if m.answer(hook) != nil {
			continue
		}
		if c := m.Calls[hook.key]; c.Attempts >= lastCalls {
			m.status.Hooks = append(m.status.Hooks, rolloutv1alpha1.HookStatus{
				Key: hook.key, Name: hook.Name, Message: fmt.Sprintf("given up after %d calls: %s", c.Attempts, c.Message),
			})
			m.tellOfHook(hook.RolloutWebhook, fmt.Sprintf("given up after %d calls: %s", c.Attempts, c.Message))
			continue
		}
		return m.call(hook, phase), true
	}
	return verdict{}, false
}

// turn is a webhook whose turn it is.
type turn struct {
	rolloutv1alpha1.RolloutWebhook
	// key is the same for every delivery of the call, and for no other call: also after a crash, since it is made of the
	// status. Names are unique in their list only, so it says which one.
	key string
}

func (m *machine) hooksOf(kind rolloutv1alpha1.HookType) []turn {
	found := m.turns(kind, "plan", m.Rollout.Plan.RolloutWebhooks)
	if b := int(m.status.CurrentBatch); b < len(m.Rollout.Plan.RolloutBatches) && m.state().Batch != "" {
		found = append(found, m.turns(kind, "batch", m.Rollout.Plan.RolloutBatches[b].BatchRolloutWebhooks)...)
	}
	return found
}

func (m *machine) turns(kind rolloutv1alpha1.HookType, list string, all []rolloutv1alpha1.RolloutWebhook) []turn {
	place := string(m.state().Rolling)
	if m.state().Batch != "" {
		place = fmt.Sprintf("%s-%d", m.state().Batch, m.status.CurrentBatch)
	}
	var found []turn
	for _, h := range all {
		if h.Type == kind {
			found = append(found, turn{h, fmt.Sprintf("%s/%s/%s/%s/%s/%s", m.Rollout.UID, m.status.Take(), place, h.Type, list, h.Name)})
		}
	}
	return found
}

// isCall tells whether two keys are of the same call but for the try that they were made in.
func isCall(a, b string) bool {
	_, a, _ = strings.Cut(a, "/")
	_, a, _ = strings.Cut(a, "/")
	_, b, _ = strings.Cut(b, "/")
	_, b, _ = strings.Cut(b, "/")
	return a == b
}

// answer is what a webhook has answered in this step, from the status or as news; nil for nothing yet. The status has answers of
// this step only, and what has passed before the step was taken up again stays.
func (m *machine) answer(h turn) *rolloutv1alpha1.HookStatus {
	if at := slices.IndexFunc(m.status.Hooks, func(s rolloutv1alpha1.HookStatus) bool { return isCall(s.Key, h.key) }); at >= 0 {
		return &m.status.Hooks[at]
	}
	c := m.Calls[h.key]
	passed := c.Answered && c.Passed
	if !passed && m.approved() {
		c, passed = Call{Answered: true, Message: "approved by a person"}, true
	}
	if !c.Answered {
		return nil
	}
	m.status.Hooks = append(m.status.Hooks, rolloutv1alpha1.HookStatus{Key: h.key, Name: h.Name, Passed: passed, Message: c.Message})
	if !passed {
		m.tellOfHook(h.RolloutWebhook, c.Message)
	}
	return &m.status.Hooks[len(m.status.Hooks)-1]
}

// approved tells whether a person lets the webhooks and metrics of this very step pass.
func (m *machine) approved() bool {
	return m.Rollout.Annotations[rolloutv1alpha1.AnnotationApprove] == m.status.Step()
}

func (m *machine) call(h turn, phase string) verdict {
	why := fmt.Sprintf("waits for webhook %s (%s)", h.Name, h.Type)
	if c := m.Calls[h.key]; c.Message != "" {
		why = fmt.Sprintf("%s, which has answered last: %s", why, c.Message)
	}
	return verdict{why: why, waiting: rolloutv1alpha1.WaitingForWebhook, actions: []Action{Invoke{Because("it is its turn"), h.key, h.RolloutWebhook, phase}}}
}

func (m *machine) tellOfHook(h rolloutv1alpha1.RolloutWebhook, message string) {
	m.news = append(m.news, News{Reason: "WebhookFailed", Note: fmt.Sprintf("webhook %s (%s): %s", h.Name, h.Type, message), Bad: true})
}

// Hook is a webhook of a step, with the key under which the status has its answer.
type Hook struct {
	rolloutv1alpha1.RolloutWebhook
	Key string
}

// HooksOf are the webhooks of one type that the step of a rollout calls, in their order, for who shows them.
func HooksOf(r *Rollout, kind rolloutv1alpha1.HookType) []Hook {
	m := machine{World: World{Rollout: *r}, status: r.Status}
	var found []Hook
	for _, h := range m.hooksOf(kind) {
		found = append(found, Hook{h.RolloutWebhook, h.key})
	}
	return found
}
