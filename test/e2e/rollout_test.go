// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

const (
	// rolloutPatience is for many rollouts side by side on a loaded machine.
	rolloutPatience = 8 * time.Minute
	// rolloutLook is the time between two looks at all of them.
	rolloutLook = 250 * time.Millisecond
)

// table says which kinds go through which story.
var table = []struct {
	story string
	kinds []string
}{
	{"succeeds", []string{"pair", "up", "down", "sts", "clone", "advanced", "daemon", "inplace", "cafe"}},
	{"partition", []string{"pair", "down", "sts", "daemon", "cafe"}},
	{"paused", []string{"up", "clone", "advanced", "inplace"}},
	{"superseded", []string{"pair", "up", "sts", "clone", "daemon", "inplace"}},
	{"fails", []string{"pair", "clone", "daemon"}},
	{"fixed", []string{"sts", "ordered", "clone", "advanced"}},
	{"reverts", []string{"pair", "sts", "ordered", "clone", "advanced", "daemon", "inplace", "cafe"}},
	{"deleted", []string{"pair", "down", "sts", "clone"}},
	{"deleted-back", []string{"pair", "up", "clone", "advanced", "daemon", "inplace", "cafe"}},
	{"gone", []string{"pair", "sts", "clone", "cafe"}},
	{"resized", []string{"pair", "up", "sts", "clone", "inplace"}},
}

func tableCells() []*cell {
	kinds, told := drivenKinds(), stories()
	var all []*cell
	for _, row := range table {
		for _, name := range row.kinds {
			all = append(all, &cell{drivenKind: kinds[name], story: told[row.story], name: name + "-" + row.story})
		}
	}
	return all
}

var _ = Describe("RolloutTraits", func() {
	It("end as they shall, each kind of workload and each story, and leave nothing behind", func(ctx SpecContext) {
		testCtx = ctx
		all := tableCells()
		for _, c := range all {
			c.create()
		}
		play(all, "the first pods", func(c *cell) []string { return c.notThere() })
		for _, c := range all {
			c.begin()
		}
		play(all, "the endings", func(c *cell) []string {
			c.step()
			return c.wrong()
		})
		say("%d rollouts have ended", len(all))
		Consistently(func() []string {
			look(all)
			return stands(all, (*cell).wrong)
		}).WithTimeout(5*time.Second).WithPolling(time.Second).Should(BeEmpty(), "rollouts in which something moves after the end")
		judgeBatches(all)
	}, SpecTimeout(20*time.Minute))
})

// play looks at all cells until none has anything to wait for.
func play(all []*cell, what string, waits func(*cell) []string) {
	GinkgoHelper()
	begin := time.Now()
	Eventually(func() []string {
		look(all)
		return stands(all, waits)
	}).WithTimeout(rolloutPatience).WithPolling(rolloutLook).Should(BeEmpty(), "rollouts that wait for %s", what)
	say("%s: %.0f s", what, time.Since(begin).Seconds())
}

// stands are the cells that are not as they shall be, and why.
func stands(all []*cell, waits func(*cell) []string) []string {
	var list []string
	for _, c := range all {
		if why := waits(c); len(why) > 0 {
			list = append(list, c.String()+" "+strings.Join(why, "; "))
		}
	}
	return list
}

// notThere is what is missing of the pods that there are at first.
func (c *cell) notThere() []string {
	if n := availableOf(c.seen.pods); n != c.size {
		return []string{fmt.Sprintf("%d of %d pods are available", n, c.size)}
	}
	return nil
}

// look reads all that there is in the namespace of the spec.
func look(all []*cell) {
	GinkgoHelper()
	pods, traits := &corev1.PodList{}, &rolloutv1alpha1.RolloutTraitList{}
	for _, list := range []client.ObjectList{pods, traits} {
		Expect(cluster.List(testCtx, list, client.InNamespace(namespace))).To(Succeed())
	}
	workloads := map[schema.GroupVersionKind]map[string]*unstructured.Unstructured{}
	for _, c := range all {
		if workloads[c.id] == nil {
			workloads[c.id] = workloadsOf(c.id)
		}
		c.seen = sight{target: workloads[c.id][c.targetName()], source: workloads[c.id][c.sourceName()]}
		for i := range traits.Items {
			if traits.Items[i].Name == c.name {
				c.seen.trait = &traits.Items[i]
			}
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; p.Labels["app"] == c.name && p.DeletionTimestamp == nil {
				c.seen.pods = append(c.seen.pods, p)
			}
		}
	}
}

func workloadsOf(id schema.GroupVersionKind) map[string]*unstructured.Unstructured {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(id.GroupVersion().WithKind(id.Kind + "List"))
	Expect(cluster.List(testCtx, list, client.InNamespace(namespace))).To(Succeed())
	byName := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		byName[list.Items[i].GetName()] = &list.Items[i]
	}
	return byName
}
