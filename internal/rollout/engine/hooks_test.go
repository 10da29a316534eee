// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Names of webhooks are unique in their list only.
func TestAWebhookOfTheBatchIsCalledAfterOneOfThePlanThatHasItsName(t *testing.T) {
	w := newWorld()
	hook := rolloutv1alpha1.RolloutWebhook{Type: rolloutv1alpha1.PreBatchRolloutHook, Name: "gate", URL: "http://127.0.0.1/plan"}
	w.Rollout.Plan.RolloutWebhooks = []rolloutv1alpha1.RolloutWebhook{hook}
	hook.URL = "http://127.0.0.1/batch"
	w.Rollout.Plan.RolloutBatches[0].BatchRolloutWebhooks = []rolloutv1alpha1.RolloutWebhook{hook}
	var urls []string
	c := newCluster(w)
	c.run(3600e9, func(c *cluster) {
		p := Next(c.observed(), c.now)
		for _, a := range p.Actions {
			if call, is := a.(Invoke); is {
				urls = append(urls, call.Hook.URL)
			}
		}
	})
	want := []string{"http://127.0.0.1/plan", "http://127.0.0.1/batch", "http://127.0.0.1/plan", "http://127.0.0.1/plan", "http://127.0.0.1/plan"}
	if !cmp.Equal(urls, want) {
		t.Errorf("called are %v, want %v", urls, want)
	}
	if keys := slices.Compact(slices.Sorted(slices.Values(c.calls))); len(keys) != len(want) {
		t.Errorf("%d calls have the keys\n%s", len(want), strings.Join(keys, "\n"))
	}
}

// While a server of metrics cannot be reached, people have to be told.
func TestAMetricThatCannotBeAskedSaysSo(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.CanaryMetric = errors
	c := newCluster(w)
	c.silent = "connection refused"
	c.run(60e9, nil)
	if got := c.world.Rollout.Status; got.WaitingFor != rolloutv1alpha1.WaitingForMetric || !contains(got.Message, "connection refused") {
		t.Errorf("it waits for %q: %s", got.WaitingFor, got.Message)
	}
}
