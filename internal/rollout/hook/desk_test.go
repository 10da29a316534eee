// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/outbound"
	"slipway.dev/slipway/test/receiver"
)

// manager is as much of one as a desk needs, on a clock that stands.
type manager struct {
	*errand.Desk[Answer]
	clock  *clocktesting.FakeClock
	client *outbound.Client
	queue  workqueue.TypedRateLimitingInterface[ctrl.Request]
	stop   func()
}

func newManager(t *testing.T) *manager {
	t.Helper()
	m := &manager{clock: clocktesting.NewFakeClock(time.Now())}
	// Calls have a real clock, so that the only timers of the standing one are those between two tries.
	m.client = newClient(t, outbound.Options{PerHost: 4, Clock: clock.RealClock{}})
	m.Desk = errand.NewDesk[Answer](m.clock, logr.Discard(), m.client.Close)
	m.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	if err := m.Source().Start(t.Context(), m.queue); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	m.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the desk ended with %v", err)
		}
		ended <- nil
		m.queue.ShutDown()
	}
	t.Cleanup(m.stop)
	return m
}

func rollout(name string) errand.Owner {
	return errand.Owner{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, UID: types.UID(name)}
}

func (m *manager) begin(owner errand.Owner, c Call) {
	m.Begin(owner, Errand(m.client, c))
}

// answered does what a controller would: whenever somebody is woken, it looks, until all wanted have an answer.
func (m *manager) answered(key string, want ...errand.Owner) map[string]Answer {
	answers := map[string]Answer{}
	for len(answers) < len(want) {
		request, down := m.queue.Get()
		if down {
			return answers
		}
		m.queue.Done(request)
		for _, owner := range want {
			if owner.NamespacedName != request.NamespacedName {
				continue
			}
			if report := m.Look(owner, key); report.State == errand.Answered {
				answers[owner.Name] = report.Answer
			}
		}
	}
	return answers
}

func TestACallIsMadeUntilItPasses(t *testing.T) {
	r, m := receiver.For(t), newManager(t)
	r.On("/hook", receiver.Answer(503, ""), receiver.Lose(), receiver.Answer(425, ""), receiver.Answer(200, "by Ada"))
	c := call(r.URL("/hook"), nil)
	m.begin(rollout("web"), c)
	go func() {
		for len(r.Deliveries("")) < 4 {
			m.clock.Step(30 * time.Second)
			runtime.Gosched()
		}
	}()
	got := m.answered(c.Key, rollout("web"))
	if diff := cmp.Diff(map[string]Answer{"web": {true, "it answers 200 OK: by Ada"}}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{c.Key: 4}, r.Keys("/hook")); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

// A manager that crashed between a call and the write of its answer makes the call again, and the receiver can tell.
func TestTheNextManagerMakesTheSameCall(t *testing.T) {
	r := receiver.For(t)
	r.On("/hook", receiver.Repeat(receiver.Answer(201, "ticket 1")))
	c := call(r.URL("/hook"), nil)
	for range 2 {
		m := newManager(t)
		m.begin(rollout("web"), c)
		if got, want := m.answered(c.Key, rollout("web"))["web"], (Answer{true, "it answers 201 Created: ticket 1"}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		m.stop()
	}
	if diff := cmp.Diff(map[string]int{c.Key: 2}, r.Keys("/hook")); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

func TestAReceiverThatHangsDelaysNobodyElse(t *testing.T) {
	hangs, works, m := receiver.For(t), receiver.For(t), newManager(t)
	hangs.On("/hook", receiver.Hang())
	slow := func(w *rolloutv1alpha1.RolloutWebhook) { w.TimeoutSeconds = ptr.To[int32](300) }
	var others []errand.Owner
	for i := range 200 {
		m.begin(rollout(fmt.Sprint("stuck-", i)), call(hangs.URL("/hook"), slow))
		owner := rollout(fmt.Sprint("web-", i))
		others = append(others, owner)
		m.begin(owner, call(works.URL("/hook"), nil))
	}
	for name, answer := range m.answered(call("", nil).Key, others...) {
		if !answer.Passed {
			t.Errorf("%s: got %+v, want a pass", name, answer)
		}
	}
	if got := len(works.Deliveries("")); got != 200 {
		t.Errorf("%d deliveries to the receiver that works, want 200", got)
	}
	if got := len(hangs.Deliveries("")); got > 4 {
		t.Errorf("%d calls at a time to the one that hangs, want at most 4", got)
	}
	m.stop() // ends at once, although 200 calls are under way
}

func TestAForgottenCallIsBrokenOff(t *testing.T) {
	r, m := receiver.For(t), newManager(t)
	left := make(chan struct{})
	r.On("/hook", receiver.Leaving(left))
	delivered := r.Next()
	m.begin(rollout("web"), call(r.URL("/hook"), nil))
	<-delivered
	m.Keep(rollout("web"))
	<-left
	if got := m.Look(rollout("web"), call("", nil).Key).State; got != errand.None {
		t.Errorf("got %s, want %s", got, errand.None)
	}
}

func TestACorrectedURLIsCalledAtOnce(t *testing.T) {
	r, m := receiver.For(t), newManager(t)
	r.On("/wrong", receiver.Answer(503, ""))
	delivered := r.Next()
	m.begin(rollout("web"), call(r.URL("/wrong"), nil))
	<-delivered
	c := call(r.URL("/right"), nil)
	m.begin(rollout("web"), c)
	if got, want := m.answered(c.Key, rollout("web"))["web"], (Answer{true, "it answers 200 OK"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
