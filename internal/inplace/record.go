// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// Record is the pod annotation apps.kruise.io/inplace-update-state: what the last in-place update of
// the pod set out to do, and what the node reported just before. Other programs read and write it too,
// so unknown members are ignored and members of ours that they do not know are optional.
type Record struct {
	// Revision is the name of the target ControllerRevision.
	Revision string `json:"revision"`
	// UpdateTimestamp is when the update began; a grace period does not begin before.
	UpdateTimestamp metav1.Time `json:"updateTimestamp"`
	// LastContainerStatuses is the baseline of each container whose image changes.
	LastContainerStatuses map[string]Baseline `json:"lastContainerStatuses"`
	// UpdateEnvFromMetadata, UpdateImages and UpdateResources tell what is part of the update: labels or
	// annotations that a container reads into its environment, images, resources.
	UpdateEnvFromMetadata bool `json:"updateEnvFromMetadata,omitempty"`
	UpdateImages          bool `json:"updateImages,omitempty"`
	UpdateResources       bool `json:"updateResources,omitempty"`
	// ResizedContainers are those whose resources the update has changed, sorted. Slipway's own.
	ResizedContainers []string `json:"resizedContainers,omitempty"`
	// PodGeneration is the metadata.generation that the pod has since its spec was written; 0 when the
	// server counts no generations of pods. Slipway's own.
	PodGeneration int64 `json:"podGeneration,omitempty"`

	// NextContainerImages, NextContainerRefMetadata and NextContainerResources are what is left for later
	// batches, by container.
	NextContainerImages      map[string]string                      `json:"nextContainerImages,omitempty"`
	NextContainerRefMetadata map[string]metav1.ObjectMeta           `json:"nextContainerRefMetadata,omitempty"`
	NextContainerResources   map[string]corev1.ResourceRequirements `json:"nextContainerResources,omitempty"`
	// PreCheckBeforeNext is what the next batch waits for; nil when there is none.
	PreCheckBeforeNext *PreCheck `json:"preCheckBeforeNext,omitempty"`
	// ContainerBatchesRecord are the batches so far, oldest first.
	ContainerBatchesRecord []Batch `json:"containerBatchesRecord,omitempty"`
}

// PreCheck is what has to be before the next batch of containers may change.
type PreCheck struct {
	ContainersRequiredReady []string `json:"containersRequiredReady,omitempty"`
}

// Batch is one group of containers that were changed together.
type Batch struct {
	Timestamp metav1.Time `json:"timestamp"`
	// Containers are sorted by name.
	Containers []string `json:"containers"`
}

// Baseline is what the node reported of a container just before its image was changed.
type Baseline struct {
	ImageID string `json:"imageID,omitempty"`

	// The rest is Slipway's own; records of other publishers do not have it.

	ContainerID  string       `json:"containerID,omitempty"`
	StartedAt    *metav1.Time `json:"startedAt,omitempty"`
	RestartCount *int32       `json:"restartCount,omitempty"`
	// Image is the name that the node reported for what was running.
	Image string `json:"image,omitempty"`
	// Superseded is the image that an earlier update had asked for and not brought to an end. The node
	// may still be on its way there.
	Superseded string `json:"superseded,omitempty"`
}

// Held is the pod annotation apps.kruise.io/inplace-update-grace: the part of an update that waits for
// the end of the grace period.
type Held struct {
	Revision             string                                 `json:"revision,omitempty"`
	ContainerImages      map[string]string                      `json:"containerImages,omitempty"`
	ContainerRefMetadata map[string]metav1.ObjectMeta           `json:"containerRefMetadata,omitempty"`
	ContainerResources   map[string]corev1.ResourceRequirements `json:"containerResources,omitempty"`
	// MetaDataPatch is a strategic merge patch of the pod, base64 in JSON. It has no labels and annotations
	// that are in ContainerRefMetadata.
	MetaDataPatch         []byte `json:"metaDataPatch,omitempty"`
	UpdateEnvFromMetadata bool   `json:"updateEnvFromMetadata,omitempty"`
	// GraceSeconds is how long the update is held back, counted from the record's UpdateTimestamp, or from the moment at
	// which the pod left service for good when that was later.
	GraceSeconds int64 `json:"graceSeconds,omitempty"`
}

// RecordOf reads the record of a pod; nil when there is none.
func RecordOf(p *corev1.Pod) (*Record, error) {
	return decode[Record](p, recordKeys)
}

// HeldOf reads what a grace period holds back on a pod; nil when there is none.
func HeldOf(p *corev1.Pod) (*Held, error) {
	return decode[Held](p, heldKeys)
}

// The keys under which an annotation may stand, the first that is there counts.
var (
	recordKeys = []string{kruisev1alpha1.AnnotationInPlaceState, kruisev1alpha1.AnnotationInPlaceStateLegacy}
	heldKeys   = []string{kruisev1alpha1.AnnotationInPlaceGrace, kruisev1alpha1.AnnotationInPlaceGraceLegacy}
)

// written is the annotation as it stands on a pod; key is empty when there is none.
func written(p *corev1.Pod, keys []string) (key, raw string) {
	for _, key := range keys {
		if raw, ok := p.Annotations[key]; ok {
			return key, raw
		}
	}
	return "", ""
}

func decode[T any](p *corev1.Pod, keys []string) (*T, error) {
	key, raw := written(p, keys)
	if key == "" {
		return nil, nil
	}
	value := new(T)
	if err := json.Unmarshal([]byte(raw), value); err != nil {
		return nil, fmt.Errorf("reading annotation %s of pod %s: %w", key, p.Name, err)
	}
	return value, nil
}

// heldMetadata is the shape of Held.MetaDataPatch.
type heldMetadata struct {
	Metadata struct {
		Labels            map[string]*string `json:"labels,omitempty"`
		Annotations       map[string]*string `json:"annotations,omitempty"`
		Finalizers        []string           `json:"finalizers,omitempty"`
		RemovedFinalizers []string           `json:"$deleteFromPrimitiveList/finalizers,omitempty"`
	} `json:"metadata"`
}

func hold(p *corev1.Pod, d Difference, revision string, grace time.Duration) (Held, error) {
	held := Held{
		Revision: revision, ContainerImages: d.Images, ContainerResources: d.Resources, GraceSeconds: int64(grace / time.Second),
		ContainerRefMetadata: map[string]metav1.ObjectMeta{},
	}
	labels, annotations := maps.Clone(d.Labels), maps.Clone(d.Annotations)
	for _, name := range d.readers(p) {
		read := d.metadataFor(containerOf(p, name))
		held.UpdateEnvFromMetadata, held.ContainerRefMetadata[name] = true, read
		deleteKeys(labels, read.Labels)
		deleteKeys(annotations, read.Annotations)
	}
	var metadata heldMetadata
	metadata.Metadata.Labels, metadata.Metadata.Annotations = labels, annotations
	metadata.Metadata.Finalizers, metadata.Metadata.RemovedFinalizers = d.AddFinalizers, d.RemoveFinalizers
	patch, err := json.Marshal(metadata)
	if err != nil {
		return Held{}, fmt.Errorf("encoding the metadata that waits for the grace period: %w", err)
	}
	held.MetaDataPatch = patch
	return held, nil
}

// difference is what the annotation holds back, as a difference that can be applied or laid under a
// newer one.
func (h Held) difference() (Difference, error) {
	d := left{images: h.ContainerImages, metadata: h.ContainerRefMetadata, resources: h.ContainerResources}.difference()
	if len(h.MetaDataPatch) == 0 {
		return d, nil
	}
	var metadata heldMetadata
	if err := json.Unmarshal(h.MetaDataPatch, &metadata); err != nil {
		return d, fmt.Errorf("reading the metadata that waits for the grace period: %w", err)
	}
	d.Labels, d.Annotations = overlay(metadata.Metadata.Labels, d.Labels), overlay(metadata.Metadata.Annotations, d.Annotations)
	d.AddFinalizers, d.RemoveFinalizers = metadata.Metadata.Finalizers, metadata.Metadata.RemovedFinalizers
	return d, nil
}
