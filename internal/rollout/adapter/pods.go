// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// children reads what the kind needs besides the object.
func (a *Adapters) children(ctx context.Context, s *Seen) error {
	reads := s.Kind.reads()
	if !reads.pods && !reads.revisions {
		return nil
	}
	matches, ok := s.selector()
	if !ok {
		return nil // no pod is found by a selector that nobody can read
	}
	within := []client.ListOption{client.InNamespace(s.Object.GetNamespace()), client.MatchingLabelsSelector{Selector: matches}}
	if reads.pods {
		pods := &corev1.PodList{}
		if err := a.Live.List(ctx, pods, within...); err != nil {
			return fmt.Errorf("listing pods: %w", err)
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; pod.IsControlledBy(p, s.Object.GetUID()) {
				s.pods = append(s.pods, p)
			}
		}
		slices.SortFunc(s.pods, func(x, y *corev1.Pod) int { return cmp.Compare(x.Name, y.Name) })
	}
	if reads.revisions {
		list := &appsv1.ControllerRevisionList{}
		if err := a.Live.List(ctx, list, within...); err != nil {
			return fmt.Errorf("listing revisions: %w", err)
		}
		for i := range list.Items {
			if r := &list.Items[i]; pod.IsControlledBy(r, s.Object.GetUID()) {
				s.revisions = append(s.revisions, revision.Decode(r))
			}
		}
		revision.Sort(s.revisions)
	}
	return nil
}

// updatedOf counts those of the pods that are on the newest template, and of these the available ones.
func (s *Seen) updatedOf(pods []*corev1.Pod, minReadySeconds int32, now time.Time) (updated, available int) {
	for _, p := range pods {
		if p == nil || !pod.IsActive(p) || !pod.HasRevision(p, s.newest) {
			continue
		}
		updated++
		if wait, ok := pod.AvailableIn(p, minReadySeconds, now); ok && wait == 0 {
			available++
		} else if ok && (s.LookAgain == 0 || wait < s.LookAgain) {
			s.LookAgain = wait
		}
	}
	return updated, available
}

// waitsOf says what the first pod waits for that is not available: updated ones first, for those are what is waited for.
func (s *Seen) waitsOf(pods []*corev1.Pod) string {
	for _, updated := range []bool{true, false} {
		for _, p := range pods {
			if p == nil || pod.HasRevision(p, s.newest) != updated {
				continue
			}
			if why := pod.WaitingFor(p); why != "" {
				return "pod " + p.Name + ": " + why
			}
		}
	}
	return ""
}
