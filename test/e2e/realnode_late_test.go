// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/test/audit"
)

// lateBy is when in its grace period a pod is reported ready again: so late that callers who come back would still be there
// at the end of the period.
const lateBy = (graceSeconds - 2) * time.Second

// contradict does to each pod of the set what a kubelet does that has not seen yet that the pod left service: it writes
// once, late in the grace period, that the pod is ready. The pod's own kubelet sets that right. It ends with the function
// that is returned.
func contradict(set client.Object) (stop func()) {
	ctx, end := context.WithCancel(testCtx)
	var done sync.WaitGroup
	done.Go(func() {
		defer GinkgoRecover()
		due := map[string]time.Time{} // by pod and update
		for wait(ctx, time.After(lookEvery)) {
			for _, pod := range podsOf(set) {
				if _, held := pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]; !held {
					continue
				}
				update := string(pod.UID) + pod.Annotations[kruisev1alpha1.AnnotationInPlaceState]
				at, seen := due[update]
				if !seen {
					due[update] = time.Now().Add(lateBy)
				} else if !at.IsZero() && time.Now().After(at) && saysReady(pod) {
					due[update] = time.Time{}
				}
			}
		}
	})
	return func() { end(); done.Wait() }
}

// saysReady writes that the pod is ready, and tells whether it was still as it was seen: what is not in its grace period
// any more is left alone.
func saysReady(pod *corev1.Pod) bool {
	GinkgoHelper()
	err := cluster.Status().Patch(testCtx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil,
		`{"metadata":{"resourceVersion":%q},"status":{"conditions":[{"type":"Ready","status":"True","reason":"","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
		pod.ResourceVersion)))
	if apierrors.IsConflict(err) {
		return false
	}
	Expect(err).NotTo(HaveOccurred())
	return true
}

// absence is what the audit log says of the changes of a set's containers.
type absence struct {
	changes, returns int
	// least is the shortest time for which a pod had not been ready when its container changed.
	least time.Duration
	// serving are the pods that were ready then.
	serving []string
}

// outOfServiceBefore goes by the condition Ready alone, as endpoints do.
func outOfServiceBefore(set client.Object) absence {
	GinkgoHelper()
	writes, _, err := audit.ReadFile(localcluster.AuditLogPath(cluster.root), 0)
	Expect(err).NotTo(HaveOccurred())
	out := absence{least: time.Hour}
	before, left := map[types.UID]*corev1.Pod{}, map[types.UID]time.Time{}
	sightings := slices.DeleteFunc(audit.Sightings(writes), func(s audit.Sighting) bool { return s.Pod == nil || !metav1.IsControlledBy(s.Pod, set) })
	slices.SortStableFunc(sightings, func(a, b audit.Sighting) int { return cmp.Compare(a.Version, b.Version) })
	for _, seen := range sightings {
		now, was := seen.Pod, before[seen.Pod.UID]
		before[now.UID] = now
		if was == nil {
			continue
		}
		if isReady(was) {
			left[now.UID] = seen.At
		}
		if was.Spec.Containers[0].Image != now.Spec.Containers[0].Image {
			out.changes++
			out.least = min(out.least, seen.At.Sub(left[now.UID]))
			if isReady(was) {
				out.serving = append(out.serving, now.Name)
			}
		}
		if _, held := now.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]; held && !isReady(was) && isReady(now) {
			out.returns++
		}
	}
	return out
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
