// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/faults/judge"
)

const (
	kills = 50
	// longestLife is the most that a manager gets to work between its start and its end.
	longestLife = 1500 * time.Millisecond
)

// victim is a set that is changed all the time, and what it allows.
type victim struct {
	set                             client.Object
	replicas, maxUnavailable, surge int
	// keeps: its pods stay. ordered: they wait for one another.
	keeps, ordered bool
	// scaled: it is scaled instead of released, up to replicas.
	scaled bool
	// due is the number of the version, or of pods, that it was last asked for.
	due, changes int
	chapter      *chapter
}

func victims() []*victim {
	all := []*victim{
		{replicas: 20, maxUnavailable: 2, keeps: true, set: create(builders.CloneSet("inplace").Replicas(20).InPlace().MaxUnavailable("2"))},
		{replicas: 8, maxUnavailable: 2, keeps: true, set: create(builders.CloneSet("grace").Replicas(8).InPlace().MaxUnavailable("2").Grace(1))},
		{replicas: 8, maxUnavailable: 1, surge: 1, set: create(builders.CloneSet("recreate").Replicas(8).MaxUnavailable("1").MaxSurge("1"))},
		{replicas: 5, maxUnavailable: 1, keeps: true, ordered: true, set: create(builders.StatefulSet("ordered").Replicas(5).InPlace())},
		{replicas: 5, maxUnavailable: 1, ordered: true, set: create(builders.StatefulSet("anew").Replicas(5))},
		{replicas: 8, maxUnavailable: 2, keeps: true, set: create(builders.StatefulSet("parallel").Replicas(8).Parallel().InPlace().MaxUnavailable("2"))},
		{replicas: 6, ordered: true, scaled: true, set: create(builders.StatefulSet("scaled").Replicas(3))},
	}
	for _, v := range all {
		settle(v.set)
		v.chapter, v.due = from(v.set), 1
		if v.scaled {
			v.due = 3
		}
	}
	return all
}

var _ = Describe("A manager that is killed again and again", Serial, func() {
	It("finishes, and keeps to the allowances and to the order all the time", func(ctx SpecContext) {
		testCtx = ctx // an interrupt must end this spec before the suite stops the last manager
		seed := uint64(GinkgoRandomSeed())
		say("seed %d (repeat with -ginkgo.seed)", seed)
		random := rand.New(rand.NewPCG(seed, kills))

		victims := victims()
		cluster.manager.stop()
		DeferCleanup(func() {
			cluster.manager.kill()
			cluster.manager.start()
		})

		inFlight, ended := 0, 0
		for n := range kills {
			for _, v := range victims {
				v.keepChanging(random)
			}
			startForAWhile(ctx, n%2 == 1)
			life := time.Duration(random.Int64N(int64(longestLife)))
			select {
			case <-time.After(life):
				cluster.manager.kill()
			case <-cluster.manager.ended: // it lost its lease; it has to start again in any case
				ended++
			}
			for _, v := range victims {
				inFlight += v.outOfService()
			}
		}
		say("%d kills, %d more ends by itself; on average %.1f pods were out of service at a kill", kills-ended, ended, float64(inFlight)/kills)

		cluster.manager.start()
		for _, v := range victims {
			v.judge()
		}
		Expect(broken()).To(BeEmpty(), "promises that were broken")
	}, SpecTimeout(10*time.Minute))
})

// broken are the promises that were broken in the namespace of the spec from its beginning on.
func broken() []judge.Finding {
	GinkgoHelper()
	cluster.audit.read() // the follower forgets what the log tells of
	file, err := os.Open(cluster.audit.path)
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	events, _, err := audit.ReadEvents(file)
	Expect(err).NotTo(HaveOccurred())
	cut := 0
	for i := range events {
		if e := &events[i]; e.Namespace == namespace && e.Unanswered() && audit.Product(e.UserAgent) == managerName {
			cut++
		}
	}
	say("%d writes were cut off before their answer", cut)
	found, err := judge.Check(events, cluster.audit.follower.Seen(namespace, time.Now()), judge.Options{Product: managerName, Namespace: namespace, Lag: time.Second, Finished: true})
	Expect(err).NotTo(HaveOccurred())
	return found
}

func (v *victim) judge() {
	GinkgoHelper()
	settle(v.set)
	name := v.set.GetName()
	if v.ordered {
		Expect(v.chapter.disorder()).To(BeEmpty(), "how the pods of %s waited for one another", name)
	}
	Expect(beginning(v.set).judge(v.replicas).pods).To(BeNumerically("<=", v.replicas+v.surge), "pods of %s at any moment", name)
	if v.scaled {
		Expect(podsOf(v.set)).To(HaveLen(v.due))
		say("%s: scaled %d times", name, v.changes)
		return
	}
	Expect(running(v.set, v.version())).To(Equal(v.replicas))
	verdict := v.chapter.judge(v.replicas)
	Expect(verdict.unavailable).To(BeNumerically("<=", v.maxUnavailable), "unavailable pods of %s at the worst moment", name)
	if v.keeps {
		Expect(verdict.kept).To(Equal(v.chapter.names()), "pods of %s with the same UID and IP", name)
	}
	say("%s: %d releases, at most %d unavailable and %d pods, %d pods kept", name, v.changes, verdict.unavailable, verdict.pods, len(verdict.kept))
}

func (v *victim) version() string { return fmt.Sprintf("v%d", v.due) }

// keepChanging brings out the next version when most pods run the latest, and sometimes before; or it scales when there are
// as many pods as asked for, and sometimes before.
func (v *victim) keepChanging(random *rand.Rand) {
	GinkgoHelper()
	early := random.IntN(10) == 0
	switch {
	case v.scaled && (early || len(podsOf(v.set)) == v.due):
		v.due = random.IntN(v.replicas + 1)
		scaleTo(v.set, int32(v.due))
	case !v.scaled && (early || running(v.set, v.version()) >= v.replicas*3/4):
		v.due++
		release(v.set, v.version())
	default:
		return
	}
	v.changes++
}

func (v *victim) outOfService() int {
	GinkgoHelper()
	n := 0
	for _, pod := range podsOf(v.set) {
		if !audit.Available(pod, 0, time.Now()) {
			n++
		}
	}
	return n
}

// startForAWhile starts a manager and waits until it works: with a lease of its own, or without.
func startForAWhile(ctx context.Context, leases bool) {
	GinkgoHelper()
	if !leases {
		cluster.manager.start("--leader-elect=false")
		Eventually(func() bool { return !cluster.manager.running() || cluster.manager.ready(ctx) == nil }).Should(BeTrue())
		return
	}
	before := leader(ctx)
	cluster.manager.start("--leader-election-lease-duration=1s", "--leader-election-renew-deadline=800ms", "--leader-election-retry-period=200ms")
	Eventually(func() bool { return !cluster.manager.running() || leader(ctx) != before }).Should(BeTrue(), "another leader than %s", before)
}

// leader is the holder of the manager's lease.
func leader(ctx context.Context) string {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: managerName}, lease)).To(Succeed())
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}
