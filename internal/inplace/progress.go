// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Progress is how far the in-place update of a pod has come.
type Progress struct {
	// Finished: the pod runs what its labels say, as far as the node has reported. A pod that was never
	// updated in place is finished.
	Finished bool
	// Holding: a grace period stands between the drain and the change; at least GraceLeft of it remains, 0 when
	// it is over.
	Holding   bool
	GraceLeft time.Duration
	// Serving: the pod is reported ready although it was drained for its grace period. It is to be taken out of service
	// again in DrainIn, 0 for now.
	Serving bool
	DrainIn time.Duration
	// GraceCut: the grace period is over although the pod was never out of service for so long.
	GraceCut bool
	// NextBatch: containers are left for a later batch, and it may begin.
	NextBatch bool
	// Infeasible says why the node will never bring the update to its end: it lacks the resources that the
	// pod was to be resized to. Empty otherwise.
	Infeasible string
	// LookIn: when nothing else is reported by then, time alone will tell more; 0 when it will not.
	LookIn time.Duration
	// Waiting says what an unfinished update waits for; deterministic, without times.
	Waiting string
}

// ProgressOf judges a pod by its annotations and by what the node reports. It fails on annotations that
// cannot be read.
func ProgressOf(p *corev1.Pod, now time.Time) (Progress, error) {
	return Read(p).Progress(p, now)
}

// Progress is as ProgressOf, for a pod whose annotations are those that were read.
func (r Reading) Progress(p *corev1.Pod, now time.Time) (Progress, error) {
	if r.err != nil {
		return Progress{}, r.err
	}
	record, held := r.record, r.held
	switch {
	case record == nil:
		waiting := unrecordedRestart(p)
		return Progress{Finished: waiting == "", Waiting: waiting}, nil
	case held != nil:
		return record.inGrace(p, held, now), nil
	}
	if waiting := record.waits(p, now); waiting != "" {
		return Progress{Waiting: waiting, Infeasible: record.infeasible(p), LookIn: record.unseenFor(p, now)}, nil
	}
	if record.next().empty() {
		waiting := unrecordedRestart(p)
		return Progress{Finished: waiting == "", Waiting: waiting}, nil
	}
	if name := record.notReady(p); name != "" {
		return Progress{Waiting: fmt.Sprintf("container %s: it is not ready, and the next batch of containers comes after it", name)}, nil
	}
	return Progress{NextBatch: true, Waiting: "the next batch of containers"}, nil
}

// waits says what the node has yet to report of what was brought to the pod so far.
func (r *Record) waits(p *corev1.Pod, now time.Time) string {
	if waiting := r.resizeWaits(p); waiting != "" {
		return waiting
	}
	if waiting := r.environmentWaits(p); waiting != "" {
		return waiting
	}
	if agent := agentOf(p); agent != nil && agent.runsImages(p) {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(r.LastContainerStatuses)) {
		if waiting := r.waitsFor(p, name, r.LastContainerStatuses[name], now); waiting != "" {
			return waiting
		}
	}
	return ""
}

// notReady names a container that has to be ready before the next batch and is not.
func (r *Record) notReady(p *corev1.Pod) string {
	if r.PreCheckBeforeNext == nil {
		return ""
	}
	for _, name := range r.PreCheckBeforeNext.ContainersRequiredReady {
		if status := statusOf(p, name); containerOf(p, name) != nil && (status == nil || !status.Ready) {
			return name
		}
	}
	return ""
}

// waitsFor says what the node has yet to report before the container counts as changed; empty when it
// runs what its spec says.
//
// An image ID alone proves nothing: two tags may share a digest, and then it never changes. A new
// container ID alone proves nothing either: the old version may have crashed just before the node saw
// the new spec. So a new container is asked for, and with it one sign that it was made from the new
// image. Times are only compared with times of the same node.
//
// A container that was started after the node saw the new spec is the new one for certain. See unseenFor for nodes that do
// not report what they have seen.
func (r *Record) waitsFor(p *corev1.Pod, name string, last Baseline, now time.Time) string {
	c, status := containerOf(p, name), statusOf(p, name)
	if c == nil {
		return "" // gone from the spec: nothing is left to wait for
	}
	if status == nil {
		return fmt.Sprintf("container %s: the node reports nothing of it", name)
	}
	named := sameImage(status.Image, c.Image)
	observed := r.observed(p, now)
	if last.Superseded != "" {
		if !named && sameImage(status.Image, last.Superseded) {
			return fmt.Sprintf("container %s: the node still runs the superseded image %s", name, last.Superseded)
		}
		// The image went back before the node had acted on the earlier change: nothing restarts.
		if named && sameImage(last.Image, c.Image) && (observed || r.PodGeneration == 0) {
			return ""
		}
	}
	if status.ContainerID == "" || status.ContainerID == last.ContainerID {
		return fmt.Sprintf("container %s: the node has not started it with image %s", name, c.Image)
	}
	started := status.State.Running != nil && last.StartedAt != nil && last.StartedAt.Before(&status.State.Running.StartedAt)
	// A container that had not been started has no old digest to differ from: its first report may come
	// from a node that has not seen the change yet.
	digest := last.ImageID != "" && status.ImageID != last.ImageID
	if digest || named || observed && started {
		return ""
	}
	return fmt.Sprintf("container %s: it was restarted, but not with image %s", name, c.Image)
}

// unreported is how long a node that does not report which generation of a pod it has seen, as those before Kubernetes 1.34,
// gets to see one. Such a node hears of a change at once, and one that hears of nothing is soon known to be lost.
const unreported = 30 * time.Second

// observed tells whether the node has seen what was brought to the pod so far.
func (r *Record) observed(p *corev1.Pod, now time.Time) bool {
	if seen := p.Status.ObservedGeneration; seen > 0 {
		return r.PodGeneration > 0 && seen >= r.PodGeneration
	}
	return !now.Before(r.seenBy(p))
}

// unseenFor is how long until a node that reports no generations counts as having seen what was brought to the pod so far; 0
// when it does, and for nodes that report them.
func (r *Record) unseenFor(p *corev1.Pod, now time.Time) time.Duration {
	if p.Status.ObservedGeneration > 0 {
		return 0
	}
	return max(r.seenBy(p).Sub(now), 0)
}

// seenBy is when the containers that run on such a node are those of the newest spec: it has seen that, and what it was to end has
// had all its time to end.
func (r *Record) seenBy(p *corev1.Pod) time.Time {
	written := r.UpdateTimestamp.Time
	if n := len(r.ContainerBatchesRecord); n > 0 {
		written = r.ContainerBatchesRecord[n-1].Timestamp.Time
	}
	return written.Add(unreported + time.Duration(ptr.Deref(p.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds))*time.Second)
}
