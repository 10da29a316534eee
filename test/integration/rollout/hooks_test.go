// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/outbound"
	"slipway.dev/slipway/test/receiver"
)

var hookTypes = []rolloutv1alpha1.HookType{
	rolloutv1alpha1.InitializeRolloutHook, rolloutv1alpha1.PreBatchRolloutHook, rolloutv1alpha1.PostBatchRolloutHook, rolloutv1alpha1.FinalizeRolloutHook,
}

// path is where a receiver gets the calls of a type.
func path(kind rolloutv1alpha1.HookType) string { return "/" + string(kind) }

// call is a webhook that is given the most time that there is.
func call(kind rolloutv1alpha1.HookType, at *receiver.Receiver) rolloutv1alpha1.RolloutWebhook {
	return rolloutv1alpha1.RolloutWebhook{Type: kind, Name: "tell", URL: at.URL(path(kind)), TimeoutSeconds: ptr.To[int32](300)}
}

func succeeded(s rolloutv1alpha1.RolloutStatus) bool {
	return s.RollingState == rolloutv1alpha1.RolloutSucceedState
}

// stuck tells of rollouts of a name that are not as they should be; empty if all are.
func stuck(statuses map[string]rolloutv1alpha1.RolloutStatus, prefix string, is func(rolloutv1alpha1.RolloutStatus) bool) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(statuses)) {
		if s := statuses[name]; strings.HasPrefix(name, prefix) && !is(s) {
			list = append(list, fmt.Sprintf("%s is in %s/%s: %s", name, s.RollingState, s.BatchRollingState, s.Message))
		}
	}
	return strings.Join(list, "; ")
}

// TestAReceiverThatHangsDelaysNoOtherRollout has half of 200 rollouts wait in all the steps that call somebody, for one server
// that never answers. There are two workers.
func TestAReceiverThatHangsDelaysNoOtherRollout(t *testing.T) {
	const half = 100
	ns := newNamespace(t)
	slow, quick := receiver.For(t), receiver.For(t)
	letGo := make(chan struct{})
	for _, kind := range hookTypes {
		slow.On(path(kind), receiver.Hold(letGo, receiver.Answer(http.StatusOK, "at last")))
	}
	deploy(t, ns)
	manage(t, ns, plain)
	for i := range half {
		begin(t, ns, fmt.Sprintf("hanging-%02d", i), call(hookTypes[i%len(hookTypes)], slow))
	}
	until(t, ns, "the slow server has as many calls as it gets at a time, and all others wait for theirs", func(all map[string]rolloutv1alpha1.RolloutStatus) string {
		if n := len(slow.Deliveries("")); n < outbound.DefaultPerHost {
			return fmt.Sprintf("it has %d", n)
		}
		return stuck(all, "hanging", func(s rolloutv1alpha1.RolloutStatus) bool { return s.WaitingFor == rolloutv1alpha1.WaitingForWebhook })
	})

	for i := range half {
		var hooks []rolloutv1alpha1.RolloutWebhook
		if i%2 == 0 {
			for _, kind := range hookTypes {
				hooks = append(hooks, call(kind, quick))
			}
		}
		begin(t, ns, fmt.Sprintf("other-%02d", i), hooks...)
	}
	until(t, ns, "all others have succeeded", func(all map[string]rolloutv1alpha1.RolloutStatus) string { return stuck(all, "other", succeeded) })
	until(t, ns, "those that hang still do", func(all map[string]rolloutv1alpha1.RolloutStatus) string {
		return stuck(all, "hanging", func(s rolloutv1alpha1.RolloutStatus) bool { return s.WaitingFor == rolloutv1alpha1.WaitingForWebhook })
	})

	close(letGo)
	until(t, ns, "all have succeeded", func(all map[string]rolloutv1alpha1.RolloutStatus) string { return stuck(all, "", succeeded) })
	for _, kind := range hookTypes {
		expect(t, fmt.Sprintf("different calls of %s at the slow server", kind), len(slow.Keys(path(kind))), half/len(hookTypes))
		expect(t, fmt.Sprintf("different calls of %s at the quick one", kind), len(quick.Keys(path(kind))), half/2)
	}
}

// TestAnAnswerThatWasNotStoredIsAskedForAgain has the manager end between the answer of a webhook and the write that stores it.
func TestAnAnswerThatWasNotStoredIsAskedForAgain(t *testing.T) {
	for _, lost := range hookTypes {
		t.Run(string(lost), func(t *testing.T) {
			ns := newNamespace(t)
			hooks := receiver.For(t)
			deploy(t, ns)
			g := &gone{wrote: make(chan struct{}), answered: func() bool { return len(hooks.Keys(path(lost))) > 0 }}
			stop := manage(t, ns, func(c client.Client) client.Client { g.Client = c; return g })
			var calls []rolloutv1alpha1.RolloutWebhook
			for _, kind := range hookTypes {
				calls = append(calls, call(kind, hooks))
			}
			begin(t, ns, "web", calls...)
			select {
			case <-g.wrote:
			case <-time.After(patience):
				until(t, ns, "the answer is stored", func(all map[string]rolloutv1alpha1.RolloutStatus) string { return stuck(all, "", succeeded) })
				t.Fatal("the answer was stored, and nobody saw the write")
			}
			stop()
			until(t, ns, "the rollout waits for the webhook", func(all map[string]rolloutv1alpha1.RolloutStatus) string {
				return stuck(all, "", func(s rolloutv1alpha1.RolloutStatus) bool { return s.WaitingFor == rolloutv1alpha1.WaitingForWebhook })
			})

			manage(t, ns, plain)
			until(t, ns, "it has succeeded", func(all map[string]rolloutv1alpha1.RolloutStatus) string { return stuck(all, "", succeeded) })
			for _, kind := range hookTypes {
				want := 1
				if kind == lost {
					want = 2
				}
				keys := hooks.Keys(path(kind))
				if len(keys) != 1 || slices.Max(slices.Collect(maps.Values(keys))) != want {
					t.Errorf("%s was delivered %v times by key, want one key and %d times", kind, keys, want)
				}
			}
		})
	}
}

// gone is the client of a manager that ends in the middle of the write that stores an answer: nobody gets that write, nor
// any later one. Until an answer is stored, a rollout says that it waits for it.
type gone struct {
	client.Client
	// answered: the webhook was called.
	answered func() bool
	// wrote is closed at that write.
	wrote chan struct{}
	once  sync.Once
}

func (g *gone) Status() client.SubResourceWriter { return &lastWrite{g.Client.Status(), g} }

type lastWrite struct {
	client.SubResourceWriter
	gone *gone
}

func (w *lastWrite) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	raw, err := patch.Data(o)
	if err != nil {
		return err
	}
	var body struct{ Status rolloutv1alpha1.RolloutStatus }
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	if !w.gone.answered() || body.Status.WaitingFor == rolloutv1alpha1.WaitingForWebhook {
		return w.SubResourceWriter.Patch(ctx, o, patch, options...)
	}
	w.gone.once.Do(func() { close(w.gone.wrote) })
	<-ctx.Done()
	return ctx.Err()
}
