// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/receiver"
)

// rolloutKills is how often the manager is killed at most while rollouts run.
const rolloutKills = 25

var _ = Describe("RolloutTraits whose manager is killed", Serial, func() {
	BeforeEach(func() {
		cluster.manager.stop()
		DeferCleanup(func() {
			cluster.manager.kill()
			cluster.manager.start()
		})
	})

	It("succeed, and are never ahead of their batches", func(ctx SpecContext) {
		testCtx = ctx // an interrupt must end this spec before the suite stops the last manager
		seed := uint64(GinkgoRandomSeed())
		say("seed %d (repeat with -ginkgo.seed)", seed)
		random := rand.New(rand.NewPCG(seed, rolloutKills))
		kinds, told := drivenKinds(), stories()
		var all []*cell
		for _, name := range []string{"pair", "sts", "clone"} {
			all = append(all, &cell{drivenKind: kinds[name], story: told["succeeds"], name: name})
		}
		cluster.manager.start("--leader-elect=false")
		for _, c := range all {
			c.create()
		}
		play(all, "the first pods", (*cell).notThere)
		cluster.manager.kill()
		for _, c := range all {
			c.begin()
		}
		kills := 0
		for ; kills < rolloutKills; kills++ {
			startForAWhile(ctx, false)
			select {
			case <-time.After(time.Duration(random.Int64N(int64(longestLife)))):
			case <-ctx.Done():
				Fail("interrupted")
			}
			cluster.manager.kill()
			if look(all); len(stands(all, (*cell).wrong)) == 0 {
				break
			}
		}
		cluster.manager.start("--leader-elect=false")
		play(all, "the endings", (*cell).wrong)
		say("%d kills", kills)
		judgeBatches(all)
	}, SpecTimeout(20*time.Minute))

	It("call each webhook again that had not answered, under the same key", func(ctx SpecContext) {
		testCtx = ctx
		hooks, err := receiver.Start()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(hooks.Close)
		calls := []struct {
			kind  rolloutv1alpha1.HookType
			phase string
			// keys is how many different calls there are.
			keys int
		}{
			{rolloutv1alpha1.InitializeRolloutHook, "initializing", 1}, {rolloutv1alpha1.PreBatchRolloutHook, "batchInitializing", 2},
			{rolloutv1alpha1.PostBatchRolloutHook, "batchFinalizing", 2}, {rolloutv1alpha1.FinalizeRolloutHook, "rolloutSucceed", 1},
		}
		told := story{name: "hooks", end: succeeded, plan: func(p *rolloutv1alpha1.RolloutPlan) {
			p.RolloutBatches = []rolloutv1alpha1.RolloutBatch{{Replicas: ptr.To(intstr.FromString("50%"))}, {}}
			for _, call := range calls {
				hooks.On("/"+string(call.kind), receiver.Hang(), receiver.Answer(http.StatusOK, "fine"))
				p.RolloutWebhooks = append(p.RolloutWebhooks, rolloutv1alpha1.RolloutWebhook{
					Type: call.kind, Name: "tell", URL: hooks.URL("/" + string(call.kind)), TimeoutSeconds: ptr.To[int32](300),
				})
			}
		}}
		all := []*cell{{drivenKind: drivenKinds()["clone"], story: told, name: "clone"}}
		cluster.manager.start("--leader-elect=false")
		all[0].create()
		play(all, "the first pods", (*cell).notThere)
		all[0].begin()
		for _, call := range calls { // each first call hangs, until whoever waits for its answer is killed
			Expect(delivered(ctx, hooks, "/"+string(call.kind))).To(Succeed())
			cluster.manager.kill()
			cluster.manager.start("--leader-elect=false")
		}
		play(all, "the endings", (*cell).wrong)

		for _, call := range calls {
			keys := hooks.Keys("/" + string(call.kind))
			Expect(keys).To(HaveLen(call.keys), "calls of %s by key", call.kind)
			var again int
			for _, n := range keys {
				if n > 1 {
					again++
				}
			}
			Expect(again).To(Equal(1), "calls of %s that were delivered again, of %v", call.kind, keys)
		}
		for _, d := range hooks.Deliveries("") {
			payload, err := d.Payload()
			Expect(err).NotTo(HaveOccurred())
			Expect(payload.Name + payload.Namespace).To(Equal(all[0].name + namespace))
			for _, call := range calls {
				if d.Path == "/"+string(call.kind) {
					Expect(payload.Phase).To(Equal(call.phase))
				}
			}
		}
	}, SpecTimeout(10*time.Minute))
})

// delivered waits until a path has got its first delivery.
func delivered(ctx context.Context, hooks *receiver.Receiver, path string) error {
	for {
		next := hooks.Next()
		if len(hooks.Keys(path)) > 0 {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return errors.New("no call of " + path)
		}
	}
}
