// SPDX-License-Identifier: Apache-2.0

package world

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/simulation/api"
)

var projections = flag.Int("projections", 200, "in how many random worlds what is foretold is compared with what happens")

// Projections is in how many random worlds what is foretold is compared with what happens.
func Projections() int { return *projections }

// Happened counts what happened in the worlds that were compared: a comparison in worlds where nothing happens shows nothing.
type Happened struct{ Passes, InPlace, Deleted, Prepared int }

func (h *Happened) add(c Course) {
	for _, did := range c.Passes {
		h.Passes++
		h.InPlace += strings.Count(did, "in place ")
		h.Deleted += strings.Count(did, "delete ")
		h.Prepared += strings.Count(did, "prepare ")
	}
}

func (h *Happened) String() string {
	return fmt.Sprintf("%d passes, %d pods in place, %d deleted, %d prepared for their hooks", h.Passes, h.InPlace, h.Deleted, h.Prepared)
}

// longest is how many turns a story is followed for: a pod whose image is missing is looked at for ever.
const longest = 2000

// CompareForetold has the set of a story foretold, plays on until nobody has a turn any more, and returns what happened and in what that
// is not what was foretold: the same pods, in the same passes and order, in place or not, with the same fewest pods available.
func (s *Story) CompareForetold(all *Happened, step func() bool, foretell func(story.Objects, time.Time) story.Story) (did Course, diff string) {
	objects := story.Objects{Pods: s.Pods(), Nodes: Nodes}
	for _, o := range s.Server.List(api.Revisions) {
		objects.Revisions = append(objects.Revisions, o.(*appsv1.ControllerRevision))
	}
	for _, o := range s.Server.List(api.Claims) {
		objects.Claims = append(objects.Claims, o.(*corev1.PersistentVolumeClaim))
	}
	before := map[types.UID]*corev1.Pod{}
	for _, pod := range objects.Pods {
		before[pod.UID] = pod
	}
	since, from := len(s.Server.Log()), s.Clock.Now()
	told := foretell(objects, from)
	for steps := 0; step() && steps < longest; steps++ {
	}
	did = s.CarriedOut(since, from, before)
	all.add(did)
	if diff = cmp.Diff(did, Foretold(told)); diff != "" {
		diff = fmt.Sprintf("(-happened +foretold):\n%s\nleft: %v", diff, told.Left)
	}
	return did, diff
}
