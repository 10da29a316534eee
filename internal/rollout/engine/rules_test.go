// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// invoked are the calls that a rollout asks for, each once: phase and name.
func invoked(c *cluster, each func(*cluster)) []string {
	var calls []string
	for c.now.Sub(start) < time.Hour && !c.gone {
		if each != nil {
			each(c)
		}
		p := c.look()
		for _, a := range p.Actions {
			if call, ok := a.(Invoke); ok {
				if told := call.Phase + " " + call.Hook.Name; len(calls) == 0 || calls[len(calls)-1] != told {
					calls = append(calls, told)
				}
			}
		}
		if p.LookAgain == time.Millisecond {
			continue
		}
		if p.Status.RollingState.IsFinal() && len(p.Actions) == 0 {
			break
		}
		c.tick()
		c.now = c.now.Add(time.Second)
	}
	return calls
}

func hookOf(kind rolloutv1alpha1.HookType, name string) rolloutv1alpha1.RolloutWebhook {
	return rolloutv1alpha1.RolloutWebhook{Type: kind, Name: name, URL: "http://127.0.0.1"}
}

func TestWebhooksAreCalledInOrderAndWithTheirPhase(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.RolloutBatches = batchesOf(4, nil)
	w.Rollout.Plan.RolloutBatches[1].BatchRolloutWebhooks = []rolloutv1alpha1.RolloutWebhook{
		hookOf(rolloutv1alpha1.PostBatchRolloutHook, "own"), hookOf(rolloutv1alpha1.PreBatchRolloutHook, "own"),
	}
	w.Rollout.Plan.RolloutWebhooks = []rolloutv1alpha1.RolloutWebhook{
		hookOf(rolloutv1alpha1.FinalizeRolloutHook, "end"), hookOf(rolloutv1alpha1.PostBatchRolloutHook, "after"), hookOf(rolloutv1alpha1.PreBatchRolloutHook, "before"),
		hookOf(rolloutv1alpha1.InitializeRolloutHook, "one"), hookOf(rolloutv1alpha1.InitializeRolloutHook, "two"),
	}
	want := []string{
		"initializing one", "initializing two", "batchInitializing before", "batchFinalizing after",
		"batchInitializing before", "batchInitializing own", "batchFinalizing after", "batchFinalizing own", "rolloutSucceed end",
	}
	if diff := cmp.Diff(want, invoked(newCluster(w), nil)); diff != "" {
		t.Errorf("the calls (-want +got):\n%s", diff)
	}
}

func TestEveryEndingCallsTheLastWebhookAfterTheRelease(t *testing.T) {
	for phase, do := range map[string]func(*cluster){
		"rolloutSucceed":    func(*cluster) {},
		"rolloutFailed":     func(c *cluster) { c.world.Target.Held = false },
		"rolloutDeleting":   func(c *cluster) { c.world.Rollout.Deleting = true },
		"rolloutAbandoning": func(c *cluster) { c.world.Target.Template = "newest" },
	} {
		t.Run(phase, func(t *testing.T) {
			w := newWorld()
			w.Rollout.Plan.RolloutWebhooks = []rolloutv1alpha1.RolloutWebhook{hookOf(rolloutv1alpha1.FinalizeRolloutHook, "end")}
			c := newCluster(w)
			c.hooks = func(string, int) Call {
				if c.world.Target.Held {
					t.Error("it is called before the workload is released")
				}
				return Call{Answered: true, Message: "403"} // changes nothing
			}
			if got := invoked(c, midway(do)); len(got) == 0 || got[0] != phase+" end" {
				t.Errorf("got the calls %v, want the first in the phase %s", got, phase)
			}
		})
	}
}

// The last webhooks must hold back neither a deletion nor what is newer.
func TestALastWebhookThatNeverAnswersIsGivenUp(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.RolloutWebhooks = []rolloutv1alpha1.RolloutWebhook{hookOf(rolloutv1alpha1.FinalizeRolloutHook, "end")}
	c := newCluster(w)
	c.hooks = func(string, int) Call { return Call{Message: "503"} }
	c.run(time.Hour, nil)
	if !c.in(Succeeded) || len(c.calls) != lastCalls || !contains(c.transcript(), "! WebhookFailed: webhook end (finalize-rollout): given up after 5 calls: 503") {
		t.Errorf("it is in %s after %d calls:\n%s", StateOf(&c.world.Rollout.Status), len(c.calls), c.transcript())
	}
}

func TestWhatIsThereAlreadyCallsNoWebhook(t *testing.T) {
	w := scaling(4, 4)
	w.Rollout.Plan.RolloutWebhooks = []rolloutv1alpha1.RolloutWebhook{hookOf(rolloutv1alpha1.InitializeRolloutHook, "one"), hookOf(rolloutv1alpha1.FinalizeRolloutHook, "end")}
	if got := invoked(newCluster(w), nil); len(got) > 0 {
		t.Errorf("got the calls %v", got)
	}
}

// A word of a person holds for the moment that it names, and for no other.
func TestWhatAPersonSaysHoldsForOneMoment(t *testing.T) {
	approve, abort, revert := rolloutv1alpha1.AnnotationApprove, rolloutv1alpha1.AnnotationAbort, rolloutv1alpha1.AnnotationRevert
	say := func(c *cluster, key, value string) { c.world.Rollout.Annotations = map[string]string{key: value} }
	metric := func(w *World) { // one that goes on for ever
		w.Rollout.Plan.CanaryMetric = slices.Clone(errors)
		w.Rollout.Plan.CanaryMetric[0].Count = ptr.To[int32](1 << 30)
	}
	gate := func(w *World) {
		w.Rollout.Plan.RolloutWebhooks = []rolloutv1alpha1.RolloutWebhook{hookOf(rolloutv1alpha1.PreBatchRolloutHook, "gate")}
	}
	for sentence, c := range map[string]struct {
		plan func(*World)
		says func(*cluster)
		want State
		// batch is where it is in the end, and template what the workload has.
		batch    int32
		template string
	}{
		"approved at each step, it passes webhooks": {gate, func(c *cluster) { say(c, approve, c.world.Rollout.Status.Step()) }, Succeeded, 3, "new"},
		"approved once, it waits at the next":       {gate, func(c *cluster) { say(c, approve, "1.0/0/batchInitializing") }, BatchInitializing, 1, "new"},
		"approved for another try, it waits":        {gate, func(c *cluster) { say(c, approve, "1.1/0/batchInitializing") }, BatchInitializing, 0, "new"},
		"approved at each step, it passes metrics":  {metric, func(c *cluster) { say(c, approve, c.world.Rollout.Status.Step()) }, Succeeded, 3, "new"},
		"aborted, it leaves the pods":               {gate, func(c *cluster) { say(c, abort, "1.0") }, Failed, 0, "new"},
		"aborted in another try, it waits":          {gate, func(c *cluster) { say(c, abort, "2.0") }, BatchInitializing, 0, "new"},
		"reverted, it has what was before":          {func(*World) {}, midway(func(c *cluster) { say(c, revert, "1.0") }), Failed, 0, "old"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld()
			c.plan(&w)
			cluster := newCluster(w)
			cluster.metric = 0.001
			cluster.hooks = func(string, int) Call { return Call{Message: "503"} }
			cluster.run(10*time.Minute, c.says)
			s := &cluster.world.Rollout.Status
			if !cluster.in(c.want) || s.CurrentBatch != c.batch || cluster.world.Target.Template != c.template {
				t.Errorf("it is in %s of batch %d with the template %s, want %s, %d, %s: %s", StateOf(s), s.CurrentBatch, cluster.world.Target.Template, c.want, c.batch, c.template, s.Message)
			}
			if final := c.want == Failed || c.want == Succeeded; final == cluster.world.Target.Held {
				t.Errorf("held is %t", !final)
			}
		})
	}
}

func TestAPausedFailureGoesOnWhenTheSpecChanges(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.FailurePolicy = rolloutv1alpha1.PauseOnFailure
	c := newCluster(w)
	c.broken = true
	stalled := false
	c.run(2*time.Hour, func(c *cluster) {
		if s := c.world.Rollout.Status; s.WaitingFor == rolloutv1alpha1.WaitingForPerson {
			stalled = stalled || conditionIs(s, rolloutv1alpha1.ConditionStalled, "DeadlineMissed")
			c.broken = false
			c.edit(func(r *Rollout) { r.Plan.ProgressDeadlineSeconds = ptr.To[int32](900) })
		}
	})
	if !c.in(Succeeded) || !stalled || c.world.Rollout.Status.Attempt == 0 {
		t.Errorf("it is in %s, stalled before: %t", StateOf(&c.world.Rollout.Status), stalled)
	}
}

func conditionIs(s rolloutv1alpha1.RolloutStatus, kind, reason string) bool {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Status == "True" && c.Reason == reason
		}
	}
	return false
}

func TestWhatCanNeverSucceedFailsAndHoldsNothing(t *testing.T) {
	for sentence, c := range map[string]struct {
		world World
		spoil func(*World)
		want  string
	}{
		"somebody else controls it":            {newWorld(), func(w *World) { w.Target.Owner = "RolloutTrait other" }, "CloneSet shop is controlled by RolloutTrait other"},
		"a source that is not needed":          {twoObjects(3), func(w *World) { w.Target.Versions = true }, "spec.sourceRef: must be empty"},
		"fewer pods than the source has":       {twoObjects(3), func(w *World) { w.Rollout.Plan.TargetSize = ptr.To[int32](2) }, "must be at least 3"},
		"another size with a new template":     {newWorld(), func(w *World) { w.Rollout.Plan.TargetSize = ptr.To[int32](12) }, "must be 10, the size of the workload"},
		"neither a source nor a size":          {scaling(3, 4), func(w *World) { w.Rollout.Plan.TargetSize = nil }, "there is neither"},
		"batches that do not add up":           {newWorld(), func(w *World) { w.Rollout.Plan.RolloutBatches = batchesOf(12, nil) }, "leave none for the last one"},
		"a kind that cannot be driven like so": {newWorld(), func(w *World) { w.Target.Unfit = "annotate its definition" }, "annotate its definition"},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.spoil(&c.world)
			c.world.Target.Held = false
			p := Next(c.world, start)
			if StateOf(&p.Status) != Failed || !contains(p.Status.Message, c.want) || len(slices.DeleteFunc(p.Actions, func(a Action) bool { _, leaves := a.(Leave); return leaves })) > 0 {
				t.Errorf("it is in %s with %d actions: %s", StateOf(&p.Status), len(p.Actions), p.Status.Message)
			}
		})
	}
}

func TestBatchesThatHaveNotBegunFollowTheSpec(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.BatchPartition = ptr.To[int32](1)
	c := newCluster(w)
	var asked []int
	c.run(time.Hour, func(c *cluster) {
		if c.world.Rollout.Status.WaitingFor == rolloutv1alpha1.WaitingAtPartition {
			c.edit(func(r *Rollout) { r.Plan.BatchPartition, r.Plan.RolloutBatches = nil, batchesOf(5, "20%", 1, nil) }) // 5 comes too late
		}
		asked = append(asked, c.world.Target.Asked)
	})
	if got := slices.Compact(asked); !c.in(Succeeded) || !slices.Equal(got, []int{0, 1, 3, 4, 10}) {
		t.Errorf("it is in %s, and has asked for %v pods", StateOf(&c.world.Rollout.Status), got)
	}
}

func TestAMetricOfTheBatchTakesThePlaceOfThePlansOfTheSameName(t *testing.T) {
	of := func(name string, highest any) rolloutv1alpha1.CanaryMetric {
		return rolloutv1alpha1.CanaryMetric{Name: name, MetricsRange: &rolloutv1alpha1.MetricsExpectedRange{Max: number(highest)}}
	}
	p := rolloutv1alpha1.RolloutPlan{RolloutBatches: batchesOf(1, nil), CanaryMetric: []rolloutv1alpha1.CanaryMetric{of("errors", 1), of("latency", 2)}}
	p.RolloutBatches[1].CanaryMetric = []rolloutv1alpha1.CanaryMetric{of("load", 3), of("errors", 4)}
	if diff := cmp.Diff(p.CanaryMetric, MetricsOf(&p, 0)); diff != "" {
		t.Errorf("of the first batch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]rolloutv1alpha1.CanaryMetric{of("errors", 4), of("latency", 2), of("load", 3)}, MetricsOf(&p, 1)); diff != "" {
		t.Errorf("of the second batch (-want +got):\n%s", diff)
	}
}
