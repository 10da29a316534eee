// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Progress is how far the in-place update of a pod has come.
type Progress struct {
	// Finished: the pod runs what its labels say, as far as the node has reported. A pod that was never
	// updated in place is finished.
	Finished bool
	// Holding: a grace period stands between the drain and the change; GraceLeft of it remains, 0 when
	// it is over.
	Holding   bool
	GraceLeft time.Duration
	// Waiting says what an unfinished update waits for; deterministic, without times.
	Waiting string
}

// ProgressOf judges a pod by its annotations and by what the node reports. It fails on annotations that
// cannot be read.
func ProgressOf(p *corev1.Pod, now time.Time) (Progress, error) {
	record, err := RecordOf(p)
	if err != nil {
		return Progress{}, err
	}
	held, err := HeldOf(p)
	if err != nil {
		return Progress{}, err
	}
	switch {
	case record == nil:
		return Progress{Finished: true}, nil
	case held != nil:
		left := record.UpdateTimestamp.Add(time.Duration(held.GraceSeconds) * time.Second).Sub(now)
		return Progress{Holding: true, GraceLeft: max(left, 0), Waiting: "the grace period before the containers change"}, nil
	case len(record.NextContainerImages)+len(record.NextContainerRefMetadata)+len(record.NextContainerResources) > 0:
		return Progress{Waiting: "the next batch of containers"}, nil
	}
	for _, name := range slices.Sorted(maps.Keys(record.LastContainerStatuses)) {
		if waiting := record.waitsFor(p, name, record.LastContainerStatuses[name]); waiting != "" {
			return Progress{Waiting: waiting}, nil
		}
	}
	return Progress{Finished: true}, nil
}

// waitsFor says what the node has yet to report before the container counts as changed; empty when it
// runs what its spec says.
//
// An image ID alone proves nothing: two tags may share a digest, and then it never changes. A new
// container ID alone proves nothing either: the old version may have crashed just before the node saw
// the new spec. So a new container is asked for, and with it one sign that it was made from the new
// image. Times are only compared with times of the same node.
func (r *Record) waitsFor(p *corev1.Pod, name string, last Baseline) string {
	c, status := containerOf(p, name), statusOf(p, name)
	if c == nil {
		return "" // gone from the spec: nothing is left to wait for
	}
	if status == nil {
		return fmt.Sprintf("container %s: the node reports nothing of it", name)
	}
	named := sameImage(status.Image, c.Image)
	observed := r.PodGeneration > 0 && p.Status.ObservedGeneration >= r.PodGeneration
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
