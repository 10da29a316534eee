// SPDX-License-Identifier: Apache-2.0

package errand

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// office is a desk inside a bubble of time, with a queue that a controller would work on.
type office struct {
	t *testing.T
	*Desk[string]
	queue   workqueue.TypedRateLimitingInterface[ctrl.Request]
	stop    context.CancelFunc
	stopped chan error
	closed  bool
}

// inOffice tells a story in which time passes only when nothing else can happen.
func inOffice(t *testing.T, story func(o *office)) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{t: t, stopped: make(chan error, 1)}
		o.Desk = NewDesk[string](clock.RealClock{}, logr.Discard(), func() { o.closed = true })
		o.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		ctx, cancel := context.WithCancel(t.Context())
		o.stop = cancel
		defer func() {
			cancel()
			o.queue.ShutDown()
			synctest.Wait()
		}()
		o.start(ctx)
		story(o)
	})
}

func (o *office) start(ctx context.Context) {
	go func() { o.stopped <- o.Start(ctx) }()
	synctest.Wait()
	o.listen()
}

func (o *office) listen() {
	if err := o.Source().Start(o.t.Context(), o.queue); err != nil {
		o.t.Fatalf("starting the source: %v", err)
	}
}

// woken returns who was woken since the last look.
func (o *office) woken() []string {
	synctest.Wait()
	names := []string{}
	for o.queue.Len() > 0 {
		request, _ := o.queue.Get()
		names = append(names, request.Name)
		o.queue.Done(request)
	}
	return names
}

func (o *office) wants(what string, owner Owner, key string, want Report[string]) {
	o.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, o.Look(owner, key)); diff != "" {
		o.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (o *office) wantsWoken(what string, want ...string) {
	o.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), o.woken()); diff != "" {
		o.t.Errorf("%s: woken (-want +got):\n%s", what, diff)
	}
}

func owner(name string) Owner {
	return Owner{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, UID: types.UID("uid of " + name)}
}

// script is an errand whose tries go as they are written, the last one for ever.
func script(key string, tries *int, attempts ...Attempt[string]) Errand[string] {
	return Errand[string]{Key: key, Try: func(context.Context) Attempt[string] {
		*tries++
		return attempts[min(*tries, len(attempts))-1]
	}}
}

// hanging is an errand that ends only when it is cancelled, and then with an answer.
func hanging(key string, cancelled *int) Errand[string] {
	return Errand[string]{Key: key, Try: func(ctx context.Context) Attempt[string] {
		<-ctx.Done()
		*cancelled++
		return Done("too late")
	}}
}

func TestAnAnswerIsKeptAndWakesTheOwner(t *testing.T) {
	inOffice(t, func(o *office) {
		var tries int
		o.wants("before", owner("web"), "a", Report[string]{State: None})
		for range 3 {
			o.Begin(owner("web"), script("a", &tries, Done("yes"), Done("asked twice")))
			o.wants("after", owner("web"), "a", Report[string]{State: Answered, Answer: "yes", Tries: 1})
		}
		o.wantsWoken("one answer", "web")
		o.wants("another key", owner("web"), "b", Report[string]{State: None})
		o.wants("another owner", owner("db"), "a", Report[string]{State: None})
	})
}

func TestAnErrandIsTriedUntilItHasAnAnswer(t *testing.T) {
	inOffice(t, func(o *office) {
		var tries int
		o.Begin(owner("web"), script("a", &tries, Again[string]("503", 0), Again[string]("503", 0), Again[string]("429", 0), Done("yes")))
		o.wants("the first try", owner("web"), "a", Report[string]{State: UnderWay, Said: "503", Tries: 1})
		o.wantsWoken("the first reason", "web")
		time.Sleep(2 * time.Second)
		o.wants("the second try", owner("web"), "a", Report[string]{State: UnderWay, Said: "503", Tries: 2})
		o.wantsWoken("the same reason again, as somebody may count", "web")
		time.Sleep(3 * time.Second)
		o.wants("the third try", owner("web"), "a", Report[string]{State: UnderWay, Said: "429", Tries: 3})
		o.wantsWoken("another reason", "web")
		o.Begin(owner("web"), script("a", &tries, Done("begun twice")))
		time.Sleep(6 * time.Second)
		o.wants("the last try", owner("web"), "a", Report[string]{State: Answered, Answer: "yes", Tries: 4})
		o.wantsWoken("the answer", "web")
	})
}

// times returns when the tries of an errand come that never succeeds.
func times(o *office, after time.Duration, n int) []time.Duration {
	begin := time.Now()
	came := make(chan time.Duration, n)
	o.Begin(owner("web"), Errand[string]{Key: fmt.Sprint("times", after), Try: func(ctx context.Context) Attempt[string] {
		select {
		case came <- time.Since(begin):
		default:
			<-ctx.Done()
		}
		return Again[string]("no", after)
	}})
	var gaps []time.Duration
	last := <-came
	for range n - 1 {
		next := <-came
		gaps = append(gaps, next-last)
		last = next
	}
	return gaps
}

func TestTriesBecomeRarerUpToHalfAMinute(t *testing.T) {
	inOffice(t, func(o *office) {
		low := time.Second
		for i, gap := range times(o, 0, 20) {
			if high := low * 3 / 2; gap < low || gap > high {
				t.Errorf("gap %d is %s, want %s to %s", i, gap, low, high)
			}
			low = min(2*low, 20*time.Second)
		}
	})
}

func TestAWaitThatIsAskedForIsKeptWithinLimits(t *testing.T) {
	inOffice(t, func(o *office) {
		for after, want := range map[time.Duration]time.Duration{
			time.Minute:    time.Minute,
			24 * time.Hour: MaxAfter,
		} {
			for i, gap := range times(o, after, 4) {
				if gap != want {
					t.Errorf("gap %d is %s where %s was asked for, want %s", i, gap, after, want)
				}
			}
		}
		if gap := times(o, time.Nanosecond, 2)[0]; gap < time.Second {
			t.Errorf("a wait that is shorter than ours gives %s", gap)
		}
	})
}

func TestWhatIsNotKeptIsCancelled(t *testing.T) {
	for name, tt := range map[string]struct {
		forget func(o *office)
		kept   bool
	}{
		"another key is kept":             {func(o *office) { o.Keep(owner("web"), "b", "c") }, false},
		"no key is kept":                  {func(o *office) { o.Keep(owner("web")) }, false},
		"its own key is kept":             {func(o *office) { o.Keep(owner("web"), "b", "a") }, true},
		"another owner keeps nothing":     {func(o *office) { o.Keep(owner("db")) }, true},
		"the owner is gone":               {func(o *office) { o.Forget(owner("web").NamespacedName) }, false},
		"another owner is gone":           {func(o *office) { o.Forget(owner("db").NamespacedName) }, true},
		"an object of its name came anew": {func(o *office) { o.Keep(Owner{owner("web").NamespacedName, "newer"}, "a") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inOffice(t, func(o *office) {
				var cancelled, tries int
				o.Begin(owner("web"), hanging("a", &cancelled))
				o.Begin(owner("web"), script("b", &tries, Again[string]("no", 0)))
				synctest.Wait()
				tt.forget(o)
				synctest.Wait()
				if wasCancelled := cancelled == 1; wasCancelled == tt.kept {
					t.Errorf("cancelled: %t, want %t", wasCancelled, !tt.kept)
				}
				want := Report[string]{State: None}
				if tt.kept {
					want = Report[string]{State: UnderWay}
				}
				o.wants("what is left", owner("web"), "a", want)
			})
		})
	}
}

func TestWhatWasForgottenIsBegunAnew(t *testing.T) {
	inOffice(t, func(o *office) {
		var cancelled, tries int
		o.Begin(owner("web"), hanging("a", &cancelled))
		synctest.Wait()
		o.Keep(owner("web"))
		o.Begin(owner("web"), script("a", &tries, Done("new")))
		o.wants("the second errand", owner("web"), "a", Report[string]{State: Answered, Answer: "new", Tries: 1})
		o.wantsWoken("the second answer", "web")
	})
}

func TestAnErrandInItsBackoffEndsAtOnceWhenForgotten(t *testing.T) {
	inOffice(t, func(o *office) {
		var tries int
		o.Begin(owner("web"), script("a", &tries, Again[string]("no", time.Hour)))
		synctest.Wait()
		o.Keep(owner("web"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if tries != 1 {
			t.Errorf("tried %d times, want 1", tries)
		}
	})
}

func TestAnotherVersionReplacesOnlyWhatIsUnderWay(t *testing.T) {
	inOffice(t, func(o *office) {
		var cancelled, tries int
		first := hanging("a", &cancelled)
		first.Version = "wrong address"
		o.Begin(owner("web"), first)
		synctest.Wait()
		second := script("a", &tries, Done("yes"))
		second.Version = "right address"
		o.Begin(owner("web"), second)
		o.wants("the corrected errand", owner("web"), "a", Report[string]{State: Answered, Answer: "yes", Tries: 1})
		if cancelled != 1 {
			t.Errorf("the first was cancelled %d times, want 1", cancelled)
		}
		third := script("a", &tries, Done("no"))
		third.Version = "yet another"
		o.Begin(owner("web"), third)
		o.wants("an answer", owner("web"), "a", Report[string]{State: Answered, Answer: "yes", Tries: 1})
	})
}

func TestAnErrandThatPanicsHarmsNobodyElse(t *testing.T) {
	inOffice(t, func(o *office) {
		var tries int
		o.Begin(owner("web"), Errand[string]{Key: "a", Try: func(context.Context) Attempt[string] {
			if tries++; tries == 1 {
				panic("broken")
			}
			return Done("yes")
		}})
		o.wants("the broken try", owner("web"), "a", Report[string]{State: UnderWay, Said: "the manager could not deal with the answer: see its log", Tries: 1})
		time.Sleep(2 * time.Second)
		o.wants("the next try", owner("web"), "a", Report[string]{State: Answered, Answer: "yes", Tries: 2})
	})
}

func TestTheEndCancelsWhatIsUnderWayAndWaitsForIt(t *testing.T) {
	inOffice(t, func(o *office) {
		var cancelled, tries int
		o.Begin(owner("web"), hanging("a", &cancelled))
		o.Begin(owner("db"), script("a", &tries, Again[string]("no", time.Hour)))
		release := make(chan struct{})
		o.Begin(owner("slow"), Errand[string]{Key: "a", Try: func(context.Context) Attempt[string] {
			<-release
			return Done("late")
		}})
		o.woken()
		o.stop()
		synctest.Wait()
		if cancelled != 1 || o.closed {
			t.Errorf("cancelled %d and closed %t while one still runs, want 1 and false", cancelled, o.closed)
		}
		close(release)
		if err := <-o.stopped; err != nil || !o.closed {
			t.Errorf("ended with error %v and closed %t, want nil and true", err, o.closed)
		}
		o.Begin(owner("web"), script("b", &tries, Done("after the end")))
		o.wants("an errand after the end", owner("web"), "b", Report[string]{State: None})
		o.wantsWoken("after the end")
		if tries != 1 {
			t.Errorf("tried %d times, want 1", tries)
		}
	})
}

// A manager that does not lead yet begins nothing, and one whose controller starts late misses nothing.
func TestErrandsWaitForTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{t: t, stopped: make(chan error, 1)}
		o.Desk = NewDesk[string](clock.RealClock{}, logr.Discard(), nil)
		var tries int
		o.Begin(owner("web"), script("a", &tries, Done("yes")))
		o.Begin(owner("db"), script("a", &tries, Done("yes")))
		o.Forget(owner("db").NamespacedName)
		o.wants("before the start", owner("web"), "a", Report[string]{State: UnderWay})

		ctx, cancel := context.WithCancel(t.Context())
		go func() { o.stopped <- o.Start(ctx) }()
		o.wants("after it", owner("web"), "a", Report[string]{State: Answered, Answer: "yes", Tries: 1})
		o.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		o.listen()
		o.wantsWoken("what was answered before the controller started", "web")
		cancel()
		if err := <-o.stopped; err != nil {
			t.Errorf("the desk ended with %v", err)
		}
		o.queue.ShutDown()
		synctest.Wait()
		if tries != 1 {
			t.Errorf("tried %d times, want 1", tries)
		}
	})
}

// A controller that is in the middle of a pass when an answer comes looks again after it.
func TestAWakeUpDuringAPassIsNotLost(t *testing.T) {
	inOffice(t, func(o *office) {
		answer := make(chan struct{})
		o.Begin(owner("web"), Errand[string]{Key: "a", Try: func(context.Context) Attempt[string] {
			<-answer
			return Done("yes")
		}})
		request := ctrl.Request{NamespacedName: owner("web").NamespacedName}
		o.queue.Add(request)
		inPass, _ := o.queue.Get()
		o.wants("what the pass reads", owner("web"), "a", Report[string]{State: UnderWay})
		close(answer)
		synctest.Wait()
		o.queue.Done(inPass)
		o.wantsWoken("after the pass", "web")
	})
}

func TestManyOwnersAndOneThatHangs(t *testing.T) {
	inOffice(t, func(o *office) {
		var cancelled, tries int
		o.Begin(owner("hangs"), hanging("a", &cancelled))
		for i := range 200 {
			o.Begin(owner(fmt.Sprint("web-", i)), Errand[string]{Key: "a", Try: func(context.Context) Attempt[string] { return Done("yes") }})
		}
		o.Begin(owner("again"), script("a", &tries, Again[string]("no", 0)))
		if got := len(o.woken()); got != 201 {
			t.Errorf("%d owners were woken, want 201", got)
		}
	})
}
