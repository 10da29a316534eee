// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/audit"
)

func parseVersion(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

// podsAt is how the pods of one cell were after one write.
type podsAt struct {
	version uint64
	at      time.Time
	pods    []*corev1.Pod
}

// judgeBatches reads from the audit log that no rollout was ever ahead of its batches.
func judgeBatches(all []*cell) {
	GinkgoHelper()
	told := pastOf(all)
	var broken []string
	moments := 0
	for _, c := range all {
		moments += len(told[c.name])
		broken = append(broken, c.ahead(told[c.name])...)
	}
	Expect(broken).To(BeEmpty(), "rollouts that were ahead of their batches")
	say("no rollout was ahead of its batches in %d states of pods", moments)
}

// pastOf is the history of the pods of each cell, as soon as the log tells all of it.
func pastOf(all []*cell) map[string][]podsAt {
	GinkgoHelper()
	var told map[string][]podsAt
	Eventually(func(g Gomega) {
		look(all)
		cluster.audit.read()
		told = replay(cluster.audit.sightings(namespace))
		for _, c := range all {
			var now []*corev1.Pod
			if past := told[c.name]; len(past) > 0 {
				now = past[len(past)-1].pods
			}
			g.Expect(versionsOf(now)).To(Equal(versionsOf(c.seen.pods)), "the pods of %s that the audit log tells of", c.name)
		}
	}).Should(Succeed())
	return told
}

func versionsOf(pods []*corev1.Pod) map[string]string {
	versions := map[string]string{}
	for _, p := range pods {
		versions[p.Name] = p.ResourceVersion
	}
	return versions
}

// replay tells what pods there were after each write, by the label that names their cell.
func replay(seen []audit.Sighting) map[string][]podsAt {
	var last uint64
	for i := range seen {
		if seen[i].Version == 0 {
			seen[i].Version = last + 1
		}
		last = max(last, seen[i].Version)
	}
	slices.SortStableFunc(seen, func(a, b audit.Sighting) int { return int(int64(a.Version) - int64(b.Version)) })
	told, now, cellOf := map[string][]podsAt{}, map[string]map[string]*corev1.Pod{}, map[string]string{}
	for _, s := range seen {
		if s.Pod != nil {
			cellOf[s.Name] = s.Pod.Labels["app"]
		}
		name := cellOf[s.Name]
		if now[name] == nil {
			now[name] = map[string]*corev1.Pod{}
		}
		if s.Gone || s.Pod == nil {
			delete(now[name], s.Name)
		} else {
			now[name][s.Name] = s.Pod
		}
		state := podsAt{version: s.Version, at: s.At}
		for _, p := range now[name] {
			state.pods = append(state.pods, p)
		}
		told[name] = append(told[name], state)
	}
	return told
}

// ahead is where more pods were changed than the batches allow. A batch may begin when all pods of those before it have been
// available; and none does that the story has not let begin.
func (c *cell) ahead(past []podsAt) []string {
	list := c.aheadOf(past, c.story.version(), c.caps)
	if c.mode == rolloutv1alpha1.InPlaceMode {
		list = append(list, c.aheadOf(past, "v3", nil)...) // which takes its place in some stories
	}
	for _, state := range past {
		least := c.drivenKind.size
		if n := availableOf(state.pods); c.mode == rolloutv1alpha1.TwoObjectsMode && !c.story.takes && state.version > c.from && n < least {
			return append(list, fmt.Sprintf("%s: %d pods were available at version %d, and %d are to be at any time", c.name, n, state.version, least))
		}
	}
	return list
}

func (c *cell) aheadOf(past []podsAt, version string, caps []allowedUntil) []string {
	goals, best := c.goals(), 0
	for _, state := range past {
		if state.version <= c.from {
			continue
		}
		changed, available := c.changedTo(version, state)
		most := goals[0]
		for i := 0; i+1 < len(goals) && best >= goals[i]; i++ {
			most = goals[i+1]
		}
		for _, limit := range caps {
			if limit.version == 0 || state.version <= limit.version {
				most = min(most, limit.pods)
			}
		}
		if added := c.size - c.drivenKind.size; changed > most+added { // a workload that others make larger gets pods of its newest version
			return []string{fmt.Sprintf("%s: %d pods were on %s at version %d, and %d were allowed", c.name, changed, version, state.version, most+added)}
		}
		best = max(best, available)
	}
	return nil
}

// changedTo counts the pods that the rollout has changed, and those of them that are available.
func (c *cell) changedTo(version string, state podsAt) (changed, available int) {
	size := c.drivenKind.size
	switch {
	case c.mode == rolloutv1alpha1.ScaleMode && c.to > size:
		return len(state.pods) - size, availableOf(state.pods) - size
	case c.mode == rolloutv1alpha1.ScaleMode:
		return size - len(state.pods), size - len(state.pods)
	}
	for _, p := range state.pods {
		if p.Spec.Containers[0].Image == image(version) {
			changed++
			if audit.Available(p, 0, state.at) {
				available++
			}
		}
	}
	return changed, available
}

func availableOf(pods []*corev1.Pod) int {
	n := 0
	for _, p := range pods {
		if audit.Available(p, 0, time.Now()) {
			n++
		}
	}
	return n
}
