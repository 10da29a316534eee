// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/golden"
)

func TestRolloutStatus(t *testing.T) {
	for sentence, test := range map[string]struct {
		world  string
		status int
		out    string
	}{
		"a success is 0":                  {"succeeded", ExitFine, "shop/web rolloutSucceed batch 4/4 pods 10/10: succeeded: all batches are done, and the workload is released\n"},
		"a failure is 1":                  {"reverted", ExitError, "shop/web rolloutFailed batch 1/3: failed: metric errors is 0.2, wanted at most 0.01; samples out of range: 1, tolerated: 0; what was before is back\n"},
		"what goes on is 2":               {"scale-up", ExitGoesOn, "shop/web rollingInBatches/batchVerifying batch 2/3 pods 4/10: batch 2 of 3: 7 of 9 pods are ready\n"},
		"what waits is 2":                 {"paused", ExitGoesOn, "shop/web rollingInBatches/batchVerifying batch 3/4 pods 5/10: batch 3 of 4: paused by spec.rolloutPlan.paused\n"},
		"an end of before is none":        {"newer-spec", ExitGoesOn, "shop/web rolloutSucceed batch 4/4 pods 10/10: waiting for the controller to look at the newest spec\n"},
		"what nobody has seen is 2":       {"unseen", ExitGoesOn, "shop/web (none): waiting for the controller to look at the newest spec\n"},
		"the text of others is made safe": {"text-from-elsewhere", ExitGoesOn, "shop/web rollingInBatches/batchVerifying batch 1/4 pods 0/10: batch 1 of 4: pod web-1 says \ufffd[31mred and more\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRolloutRun(t, stored(t, test.world))
			err := r.execute(t.Context(), t, "rollout", "status", "web", "-n", "shop")
			if got := ExitStatus(err); got != test.status || err != nil && !IsTold(err) {
				t.Errorf("exit status %d (%v), want %d", got, err, test.status)
			}
			if diff := cmp.Diff(test.out, r.out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("one that is not there is an error", func(t *testing.T) {
		err := newRolloutRun(t).execute(t.Context(), t, "rollout", "status", "lost")
		if ExitStatus(err) != ExitError || IsTold(err) {
			t.Errorf("error %v, which is told: %t", err, IsTold(err))
		}
	})
}

func TestRolloutStatusWaits(t *testing.T) {
	change := func(world string) func(context.Context, *testing.T, *run) {
		return func(ctx context.Context, t *testing.T, r *run) {
			live, next := &rolloutv1alpha1.RolloutTrait{}, stored(t, world)
			if err := r.client.Get(ctx, client.ObjectKeyFromObject(next), live); err != nil {
				t.Error(err)
				return
			}
			live.Status = next.Status
			if err := r.client.Status().Update(ctx, live); err != nil {
				t.Error(err)
			}
		}
	}
	const begins = "12:00:00 shop/web rollingInBatches/batchVerifying batch 2/4 pods 2/10: 2 of 3 updated pods are available, and batch 2 of 4 needs 3; pod web-7 pulls its image\n"
	for sentence, test := range map[string]struct {
		then        func(context.Context, *testing.T, *run)
		status      int
		out, errOut string
		want        string
	}{
		"for a success": {change("succeeded"), ExitFine, begins + "12:00:00 shop/web rolloutSucceed batch 4/4 pods 10/10: succeeded: all batches are done, and the workload is released\n", "", ""},
		"for a failure": {change("failed"), ExitError, begins + "12:00:00 shop/web rolloutFailed batch 2/4 pods 2/10: failed: batch 2 of 4 has made no progress for 10m0s: " +
			"2 of 3 updated pods are available, and batch 2 of 4 needs 3; the pods are left as they are\n", "", "the rollout has failed"},
		"until the timeout": {func(_ context.Context, _ *testing.T, r *run) { r.clock.(*clocktesting.FakeClock).Step(time.Hour) }, ExitGoesOn, begins,
			"RolloutTrait shop/web has not ended after 30m0s\n", "has not ended"},
		"until it is deleted": {func(ctx context.Context, t *testing.T, r *run) {
			if err := r.client.Delete(ctx, stored(t, "succeeded")); err != nil {
				t.Error(err)
			}
		}, ExitError, begins, "", "the RolloutTrait has been deleted"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRolloutRun(t, stored(t, "batch-verifying-pods"))
			r.out.on = func(all string) {
				if all == begins {
					test.then(t.Context(), t, r)
				}
			}
			err := r.execute(t.Context(), t, "rollout", "status", "web", "-n", "shop", "--wait", "--timeout", "30m")
			if got := ExitStatus(err); got != test.status || test.want != "" && !strings.Contains(err.Error(), test.want) {
				t.Errorf("exit status %d (%v), want %d and %q", got, err, test.status, test.want)
			}
			if diff := cmp.Diff(test.out+test.errOut, r.out.String()+r.errOut.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("never without --wait", func(t *testing.T) {
		err := newRolloutRun(t).execute(t.Context(), t, "rollout", "status", "web", "--timeout", "5s")
		if err == nil || !strings.Contains(err.Error(), "--timeout goes with --wait") {
			t.Errorf("error %v", err)
		}
	})
}

func TestRolloutsAreShown(t *testing.T) {
	const table = "NAME   TARGET        BATCH  UPGRADED  READY  AGE  STATUS\n" +
		"⏸ web  CloneSet web  2/4    3         3      20m  waits after batch 2 of 4 until spec.rolloutPlan.batchPartition, which is 1, lets the next one begin\n"
	golden, err := os.ReadFile(filepath.Join("rollouts", "testdata", "at-the-partition.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		args []string
		out  string
	}{
		"one":                        {[]string{"rollout", "get", "web", "-n", "shop"}, string(golden)},
		"one, by get":                {[]string{"get", "rollout", "web", "-n", "shop"}, string(golden)},
		"all":                        {[]string{"rollout", "get", "-n", "shop"}, table},
		"all, by the short name":     {[]string{"get", "rt", "-n", "shop"}, table},
		"all of all namespaces":      {[]string{"rollout", "get", "-A", "-o", "name"}, "rollouttrait.standard.oam.dev/web\n"},
		"one field, for programs":    {[]string{"rollout", "get", "web", "-n", "shop", "-o", "jsonpath={.status.waitingFor}"}, "Partition"},
		"a pause, by the other name": {[]string{"pause", "rollout/web", "-n", "shop"}, "RolloutTrait shop/web: spec.rolloutPlan.paused is true: nothing new begins, and what is on its way ends\n"},
		"completion":                 {[]string{"__complete", "rollout", "promote", "-n", "shop", "w"}, "web\n:4\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRolloutRun(t, stored(t, "at-the-partition"))
			if err := r.execute(t.Context(), t, test.args...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.out, r.out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARolloutIsWatched(t *testing.T) {
	ctx := t.Context()
	r := newRolloutRun(t, stored(t, "batch-verifying-pods"))
	r.out.on = func(all string) {
		if strings.Count(all, "\n") != 1 {
			return
		}
		live, next := &rolloutv1alpha1.RolloutTrait{}, stored(t, "succeeded")
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(next), live); err != nil {
			t.Error(err)
			return
		}
		live.Status = next.Status
		if err := r.client.Status().Update(ctx, live); err != nil {
			t.Error(err)
		}
	}
	if err := r.execute(ctx, t, "rollout", "get", "web", "-n", "shop", "--until-settled"); err != nil {
		t.Fatal(err)
	}
	want := "12:00:00 shop/web 2 of 3 updated pods are available, and batch 2 of 4 needs 3; pod web-7 pulls its image\n" +
		"12:00:00 shop/web succeeded: all batches are done, and the workload is released\n"
	if diff := cmp.Diff(want, r.out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestHistory(t *testing.T) {
	event := func(name string, at time.Duration, kind, reason, note string, count int32) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}, InvolvedObject: corev1.ObjectReference{UID: "web-uid"},
			Type: kind, Reason: reason, Message: note, Count: count, LastTimestamp: metav1.NewTime(epoch.Add(at))}
	}
	other := event("d", 0, "Normal", "RolloutStarted", "of another rollout", 1)
	other.InvolvedObject.UID = "other"
	newer := event("c", 0, "Normal", "BatchStarted", "batch 1 of 4 begins", 0)
	newer.LastTimestamp, newer.EventTime = metav1.Time{}, metav1.NewMicroTime(epoch.Add(-10*time.Minute))
	r := newRolloutRun(t, stored(t, "failed"), other, newer,
		event("a", -12*time.Minute, "Normal", "RolloutStarted", "begins: 10 pods in 4 batches", 1),
		event("b", -2*time.Minute, "Warning", "DeadlineMissed", "batch 2 of 4 has made no progress for 10m0s", 3))
	if err := r.execute(t.Context(), t, "rollout", "history", "web", "-n", "shop"); err != nil {
		t.Fatal(err)
	}
	golden.Text(t, "rollout-history.txt", r.out.String())
	r = newRolloutRun(t, stored(t, "unseen"))
	if err := r.execute(t.Context(), t, "rollout", "history", "web", "-n", "shop"); err != nil {
		t.Fatal(err)
	}
	golden.Text(t, "rollout-history-none.txt", r.out.String())
	if err := r.execute(t.Context(), t, "rollout", "history", "lost"); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("error %v for one that is not there", err)
	}
}
