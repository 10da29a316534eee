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
	hooks, plans := m.hooksOf(kind)
	for i, hook := range hooks {
		key := m.callKey(hook, i >= plans)
		answer := m.answer(key, hook)
		switch {
		case answer != nil && answer.Passed:
			continue
		case answer != nil:
			return m.fail("WebhookRejected", fmt.Sprintf("webhook %s (%s) rejects it: %s", hook.Name, hook.Type, answer.Message)), true
		}
		return m.call(key, hook, phase), true
	}
	return verdict{}, false
}

// lastHooks calls the webhooks of the end. What they answer changes nothing, and is told.
func (m *machine) lastHooks(phase string) (verdict, bool) {
	if m.status.Running == nil {
		return verdict{}, false // the first ones were never called
	}
	hooks, _ := m.hooksOf(rolloutv1alpha1.FinalizeRolloutHook)
	for _, hook := range hooks {
		key := m.callKey(hook, false)
		if m.answer(key, hook) != nil {
			continue
		}
		if c := m.Calls[key]; c.Attempts >= lastCalls {
			m.status.Hooks = append(m.status.Hooks, rolloutv1alpha1.HookStatus{
				Key: key, Name: hook.Name, Message: fmt.Sprintf("given up after %d calls: %s", c.Attempts, c.Message),
			})
			m.tellOfHook(hook, fmt.Sprintf("given up after %d calls: %s", c.Attempts, c.Message))
			continue
		}
		return m.call(key, hook, phase), true
	}
	return verdict{}, false
}

// hooksOf are the webhooks of a type that are called now, and how many of them, from the first on, are the plan's.
func (m *machine) hooksOf(kind rolloutv1alpha1.HookType) (all []rolloutv1alpha1.RolloutWebhook, plans int) {
	batch := -1
	if m.state().Batch != "" {
		batch = int(m.status.CurrentBatch)
	}
	return HooksOf(&m.Rollout.Plan, kind, batch), len(HooksOf(&m.Rollout.Plan, kind, -1))
}

// HooksOf are the webhooks of a plan of one type in the order in which they are called: those of the plan, then those of the
// batch, from 0; -1 is outside of batches.
func HooksOf(p *rolloutv1alpha1.RolloutPlan, kind rolloutv1alpha1.HookType, batch int) []rolloutv1alpha1.RolloutWebhook {
	all := p.RolloutWebhooks
	if batch >= 0 && batch < len(p.RolloutBatches) {
		all = slices.Concat(all, p.RolloutBatches[batch].BatchRolloutWebhooks)
	}
	var found []rolloutv1alpha1.RolloutWebhook
	for _, h := range all {
		if h.Type == kind {
			found = append(found, h)
		}
	}
	return found
}

// callKey is the same for every delivery of a call, and for no other call: also after a crash, since it is made of the status.
// A webhook of the batch is not one of the plan that has the same name.
func (m *machine) callKey(h rolloutv1alpha1.RolloutWebhook, ofBatch bool) string {
	place := string(m.state().Rolling)
	if m.state().Batch != "" {
		place = fmt.Sprintf("%s-%d", m.state().Batch, m.status.CurrentBatch)
	}
	list := ""
	if ofBatch {
		list = "batch/"
	}
	return fmt.Sprintf("%s/%s/%s/%s%s/%s", m.Rollout.UID, m.status.Take(), place, list, h.Type, h.Name)
}

// isCall tells whether two keys are of the same call but for the try that they were made in.
func isCall(a, b string) bool {
	_, a, _ = strings.Cut(a, "/")
	_, a, _ = strings.Cut(a, "/")
	_, b, _ = strings.Cut(b, "/")
	_, b, _ = strings.Cut(b, "/")
	return a == b
}

// answer is what a webhook has answered in this step, from the status or as news; nil for nothing yet. The status has only answers
// of this step, and one that has passed before the step was taken up again stays.
func (m *machine) answer(key string, h rolloutv1alpha1.RolloutWebhook) *rolloutv1alpha1.HookStatus {
	if at := slices.IndexFunc(m.status.Hooks, func(s rolloutv1alpha1.HookStatus) bool { return isCall(s.Key, key) }); at >= 0 {
		return &m.status.Hooks[at]
	}
	c := m.Calls[key]
	passed := c.Answered && c.Passed
	if !passed && m.approved() {
		c, passed = Call{Answered: true, Message: "approved by a person"}, true
	}
	if !c.Answered {
		return nil
	}
	m.status.Hooks = append(m.status.Hooks, rolloutv1alpha1.HookStatus{Key: key, Name: h.Name, Passed: passed, Message: c.Message})
	if !passed {
		m.tellOfHook(h, c.Message)
	}
	return &m.status.Hooks[len(m.status.Hooks)-1]
}

// approved tells whether a person lets the webhooks and metrics of this very step pass.
func (m *machine) approved() bool {
	return m.Rollout.Annotations[rolloutv1alpha1.AnnotationApprove] == m.status.Step()
}

func (m *machine) call(key string, h rolloutv1alpha1.RolloutWebhook, phase string) verdict {
	why := fmt.Sprintf("waits for webhook %s (%s)", h.Name, h.Type)
	if c := m.Calls[key]; c.Message != "" {
		why = fmt.Sprintf("%s, which has answered last: %s", why, c.Message)
	}
	return verdict{why: why, waiting: rolloutv1alpha1.WaitingForWebhook, actions: []Action{Invoke{Because("it is its turn"), key, h, phase}}}
}

func (m *machine) tellOfHook(h rolloutv1alpha1.RolloutWebhook, message string) {
	m.news = append(m.news, News{Reason: "WebhookFailed", Note: fmt.Sprintf("webhook %s (%s): %s", h.Name, h.Type, message), Bad: true})
}
