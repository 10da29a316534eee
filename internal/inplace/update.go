// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/step"
)

// Aim is the revision that a pod is brought to.
type Aim struct {
	// Revision is the full name of the ControllerRevision.
	Revision string
	// Label is the value of the pod's revision label. Hash is that of the label which repeats the hash alone; empty
	// where pods have no such label.
	Label, Hash string
}

func (a Aim) labels() map[string]*string {
	labels := map[string]*string{kruisev1alpha1.LabelRevision: ptr.To(a.Label)}
	if a.Hash != "" {
		labels[kruisev1alpha1.LabelPodTemplateHash] = ptr.To(a.Hash)
	}
	return labels
}

// Begin is the step that starts the update of a pod to aim, or that supersedes an update which has not
// come to its end: then what that one had not brought to the pod yet is brought along, d being the
// difference between the revision that the pod is labelled with and aim. A grace above zero holds the
// change of the containers back after the pod has left service.
//
// It fails on annotations that cannot be read; the pod is then left as it is.
func Begin(p *corev1.Pod, d Difference, aim Aim, grace time.Duration, now time.Time) (step.UpdateInPlace, error) {
	before, err := RecordOf(p)
	if err != nil {
		return step.UpdateInPlace{}, err
	}
	held, err := HeldOf(p)
	if err != nil {
		return step.UpdateInPlace{}, err
	}
	unfinished, err := unfinishedOf(before, held)
	if err != nil {
		return step.UpdateInPlace{}, err
	}
	whole := d.Onto(unfinished)
	d = whole.notYet(p)

	record := Record{Revision: aim.Revision, UpdateTimestamp: metav1.NewTime(now.UTC().Truncate(time.Second))}
	record.carry(p, before, now)
	record.involve(p, d)
	record.resizedAlready(p, whole, d)
	update := step.UpdateInPlace{Target: step.On(p)}
	if d.Drains(p) {
		update.Drain = OutOfService(p, now)
	}
	if d.Drains(p) && grace > 0 {
		if held, err := hold(p, d, aim.Revision, grace); err != nil {
			return step.UpdateInPlace{}, err
		} else if update.Patch.Annotations, err = annotate(kruisev1alpha1.AnnotationInPlaceGrace, held); err != nil {
			return step.UpdateInPlace{}, err
		}
		update.Grace = grace
		record.UpdateTimestamp = metav1.NewTime(wholeSecond(now)) // the grace begins there
	} else {
		bring(&update, &record, p, d, now)
		drop(&update.Patch, p, kruisev1alpha1.AnnotationInPlaceGrace)
	}
	if err := finishPatch(&update.Patch, p, record); err != nil {
		return step.UpdateInPlace{}, err
	}
	update.Patch.Labels = overlay(update.Patch.Labels, aim.labels())
	return update, nil
}

// Resume is the step that ends a grace period: what was held back reaches the pod, or its first batch.
func Resume(p *corev1.Pod, now time.Time) (step.UpdateInPlace, error) {
	record, err := RecordOf(p)
	if err != nil {
		return step.UpdateInPlace{}, err
	}
	held, err := HeldOf(p)
	if err != nil {
		return step.UpdateInPlace{}, err
	}
	if record == nil || held == nil {
		return step.UpdateInPlace{}, fmt.Errorf("pod %s has no update in a grace period", p.Name)
	}
	d, err := held.difference()
	if err != nil {
		return step.UpdateInPlace{}, err
	}
	return goOn(p, *record, d, now)
}

// Advance is the step that brings the next batch of containers, when the one before has come to its end.
func Advance(p *corev1.Pod, now time.Time) (step.UpdateInPlace, error) {
	record, err := RecordOf(p)
	if err != nil {
		return step.UpdateInPlace{}, err
	}
	if record == nil || record.next().empty() {
		return step.UpdateInPlace{}, fmt.Errorf("pod %s has no further batch of containers", p.Name)
	}
	return goOn(p, *record, record.next().difference(), now)
}

// goOn brings more of an update that has begun.
func goOn(p *corev1.Pod, record Record, d Difference, now time.Time) (step.UpdateInPlace, error) {
	before, whole := record, d
	d = d.notYet(p)
	record.carry(p, &before, now)
	record.involve(p, d)
	record.resizedAlready(p, whole, d)
	update := step.UpdateInPlace{Target: step.On(p), Resumes: true}
	if d.Drains(p) { // nothing to write, unless the pod is back in service
		update.Drain = OutOfService(p, now)
	}
	bring(&update, &record, p, d, now)
	drop(&update.Patch, p, kruisev1alpha1.AnnotationInPlaceGrace)
	if err := finishPatch(&update.Patch, p, record); err != nil {
		return step.UpdateInPlace{}, err
	}
	return update, nil
}

// bring puts the first batch of d into the step, and what is left for later ones into the record.
func bring(update *step.UpdateInPlace, record *Record, p *corev1.Pod, d Difference, now time.Time) {
	first, batch, later := d.split(p)
	update.Patch, update.Resize = first.patch(), first.Resources
	record.note(p, first)
	record.NextContainerImages, record.NextContainerRefMetadata, record.NextContainerResources = later.images, later.metadata, later.resources
	record.PreCheckBeforeNext = nil
	if !later.empty() {
		record.PreCheckBeforeNext = &PreCheck{ContainersRequiredReady: batch}
	}
	if len(batch) > 0 {
		record.ContainerBatchesRecord = append(slices.Clone(record.ContainerBatchesRecord), Batch{Timestamp: metav1.NewTime(now.UTC().Truncate(time.Second)), Containers: batch})
	}
}

// Relabel is the step for two revisions that do not differ: the pod is what it shall be already.
func Relabel(p *corev1.Pod, aim Aim) step.PatchPod {
	return step.PatchPod{Target: step.On(p), Patch: step.Patch{Labels: aim.labels()}}
}

// carry takes over from the record before what the pod still waits for.
func (r *Record) carry(p *corev1.Pod, before *Record, now time.Time) {
	if before == nil {
		return
	}
	r.LastContainerStatuses = pending(p, before, now)
	if len(r.LastContainerStatuses) > 0 {
		r.UpdateImages, r.PodGeneration = true, before.PodGeneration
	}
	if before.resizeWaits(p) != "" {
		r.UpdateResources, r.ResizedContainers, r.PodGeneration = true, before.resizedContainers(p), before.PodGeneration
	}
	if before.environmentWaits(p) != "" {
		r.UpdateEnvFromMetadata = true
	}
}

// involve notes what is part of the update, whatever batch it is in.
func (r *Record) involve(p *corev1.Pod, d Difference) {
	r.UpdateImages = r.UpdateImages || len(d.Images) > 0
	r.UpdateResources = r.UpdateResources || len(d.Resources) > 0
	r.UpdateEnvFromMetadata = r.UpdateEnvFromMetadata || len(d.readers(p)) > 0
}

// resizedAlready notes resizes that were made and not recorded, because the manager died or was refused in
// between: the node may still be on its way there.
func (r *Record) resizedAlready(p *corev1.Pod, whole, left Difference) {
	for name := range whole.Resources {
		if _, isLeft := left.Resources[name]; isLeft || containerOf(p, name) == nil {
			continue
		}
		r.UpdateResources = true
		r.ResizedContainers = union([]string{name}, r.ResizedContainers)
		r.PodGeneration = max(r.PodGeneration, p.Generation)
	}
	slices.Sort(r.ResizedContainers)
}

// note writes down what the node reported of each container whose image is about to change, and which
// containers are about to be resized.
func (r *Record) note(p *corev1.Pod, d Difference) {
	for name := range d.Images {
		baseline := Baseline{RestartCount: ptr.To[int32](0)}
		if status := statusOf(p, name); status != nil {
			baseline = Baseline{ImageID: status.ImageID, ContainerID: status.ContainerID, Image: status.Image, RestartCount: ptr.To(status.RestartCount)}
			if status.State.Running != nil {
				baseline.StartedAt = ptr.To(status.State.Running.StartedAt)
			}
		}
		if _, onItsWay := r.LastContainerStatuses[name]; onItsWay {
			baseline.Superseded = containerOf(p, name).Image
		}
		r.LastContainerStatuses = overlay(r.LastContainerStatuses, map[string]Baseline{name: baseline})
	}
	for name := range d.Resources {
		r.ResizedContainers = union([]string{name}, r.ResizedContainers)
	}
	slices.Sort(r.ResizedContainers)
	// Each write is conditional on the version judged, so it makes exactly the next generation.
	var generations int64
	if len(d.Resources) > 0 {
		generations++
	}
	if len(d.Images) > 0 {
		generations++
	}
	if generations > 0 && p.Generation > 0 {
		r.PodGeneration = p.Generation + generations
	}
}

// pending are the baselines of containers which an earlier update changed and which do not run the
// change yet; nil when there are none.
func pending(p *corev1.Pod, before *Record, now time.Time) map[string]Baseline {
	if before == nil {
		return nil
	}
	left := maps.Clone(before.LastContainerStatuses)
	maps.DeleteFunc(left, func(name string, baseline Baseline) bool {
		return before.waitsFor(p, name, baseline, now) == ""
	})
	if len(left) == 0 {
		return nil
	}
	return left
}

// next is what the record leaves for later batches.
func (r *Record) next() left {
	return left{images: r.NextContainerImages, metadata: r.NextContainerRefMetadata, resources: r.NextContainerResources}
}

func unfinishedOf(before *Record, held *Held) (Difference, error) {
	var unfinished Difference
	if before != nil {
		unfinished = before.next().difference()
	}
	if held == nil {
		return unfinished, nil
	}
	waiting, err := held.difference()
	return waiting.Onto(unfinished), err
}

// notYet is d without the images and resources that the spec of the pod has already.
func (d Difference) notYet(p *corev1.Pod) Difference {
	d.Images = maps.Clone(d.Images)
	maps.DeleteFunc(d.Images, func(name, image string) bool {
		c := containerOf(p, name)
		return c == nil || c.Image == image
	})
	d.Resources = resizesLeft(p, d.Resources)
	return d
}

func finishPatch(patch *step.Patch, p *corev1.Pod, record Record) error {
	state, err := annotate(kruisev1alpha1.AnnotationInPlaceState, record)
	if err != nil {
		return err
	}
	patch.Annotations = overlay(patch.Annotations, state)
	drop(patch, p, kruisev1alpha1.AnnotationInPlaceStateLegacy)
	drop(patch, p, kruisev1alpha1.AnnotationInPlaceGraceLegacy)
	return nil
}

func annotate(key string, value any) (map[string]*string, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding annotation %s: %w", key, err)
	}
	return map[string]*string{key: ptr.To(string(raw))}, nil
}

// drop removes an annotation that the pod has.
func drop(patch *step.Patch, p *corev1.Pod, key string) {
	if _, has := p.Annotations[key]; has {
		patch.Annotations = overlay(patch.Annotations, map[string]*string{key: nil})
	}
}
