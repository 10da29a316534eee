// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

// set is a set as far as the log has told of it.
type set struct {
	uid    types.UID
	name   string
	single bool // pods have ordinals: a StatefulSet
	// specs are those that a controller may go by, the newest last.
	specs []spec
	// templates are the images of all templates so far, in the order of their first appearance.
	templates []string
	gone      bool
}

// spec is one generation of what a set wants.
type spec struct {
	generation                             int64
	replicas, unavailable, surge, keeps    int
	ordered, inPlaceOnly, deletesItsClaims bool
	images                                 string
	minReady                               time.Duration
}

func (s *set) latest() spec { return s.specs[len(s.specs)-1] }

// learn takes a state of the set. Observed is what the controllers' status says that they have seen.
func (s *set) learn(now spec, observed int64) {
	if len(s.specs) == 0 || s.latest().generation < now.generation {
		s.specs = append(s.specs, now)
	}
	if len(s.templates) == 0 || s.templates[len(s.templates)-1] != now.images {
		s.templates = append(s.templates, now.images)
	}
	for len(s.specs) > 1 && s.specs[1].generation <= observed {
		s.specs = s.specs[1:]
	}
}

// readSet reads a set from the answer to a write.
func readSet(resource string, raw json.RawMessage) (metav1.ObjectMeta, spec, int64, error) {
	switch resource {
	case "clonesets":
		var c kruisev1alpha1.CloneSet
		if err := json.Unmarshal(raw, &c); err != nil {
			return c.ObjectMeta, spec{}, 0, fmt.Errorf("decoding a CloneSet: %w", err)
		}
		return c.ObjectMeta, ofCloneSet(&c), c.Status.ObservedGeneration, nil
	default:
		var s kruisev1beta1.StatefulSet
		if err := json.Unmarshal(raw, &s); err != nil {
			return s.ObjectMeta, spec{}, 0, fmt.Errorf("decoding a StatefulSet: %w", err)
		}
		return s.ObjectMeta, ofStatefulSet(&s), s.Status.ObservedGeneration, nil
	}
}

func ofCloneSet(c *kruisev1alpha1.CloneSet) spec {
	u := c.Spec.UpdateStrategy
	n := int(ptr.Deref(c.Spec.Replicas, 1))
	return spec{
		generation: c.Generation, replicas: n, surge: share(u.MaxSurge, "0", n), unavailable: share(u.MaxUnavailable, "20%", n),
		keeps:       share(u.Partition, "0", n),
		inPlaceOnly: u.Type == kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType, deletesItsClaims: true,
		images: imagesOf(&c.Spec.Template.Spec), minReady: time.Duration(c.Spec.MinReadySeconds) * time.Second,
	}
}

func ofStatefulSet(s *kruisev1beta1.StatefulSet) spec {
	rolling := ptr.Deref(s.Spec.UpdateStrategy.RollingUpdate, kruisev1beta1.RollingUpdateStatefulSetStrategy{})
	n := int(ptr.Deref(s.Spec.Replicas, 1))
	one := spec{
		generation: s.Generation, replicas: n, unavailable: share(rolling.MaxUnavailable, "1", n), keeps: int(ptr.Deref(rolling.Partition, 0)),
		ordered:     s.Spec.PodManagementPolicy != kruisev1beta1.ParallelPodManagement,
		inPlaceOnly: rolling.PodUpdatePolicy == kruisev1beta1.InPlaceOnlyPodUpdateStrategyType,
		images:      imagesOf(&s.Spec.Template.Spec), minReady: time.Duration(ptr.Deref(rolling.MinReadySeconds, 0)) * time.Second,
	}
	if one.ordered {
		one.unavailable = 1
	}
	if r := s.Spec.PersistentVolumeClaimRetentionPolicy; r != nil {
		one.deletesItsClaims = r.WhenScaled == kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return one
}

// share is a number of the replicas; parts are rounded up, which is the most that anybody may read from it.
func share(n *intstr.IntOrString, absent string, of int) int {
	value := intstr.Parse(absent)
	if n != nil {
		value = *n
	}
	if value.Type == intstr.Int {
		return value.IntValue()
	}
	var percent float64
	if _, err := fmt.Sscanf(value.StrVal, "%g%%", &percent); err != nil {
		return of // nothing to hold anybody to
	}
	return int(math.Ceil(percent * float64(of) / 100))
}

func imagesOf(spec *corev1.PodSpec) string {
	var images []string
	for i := range spec.Containers {
		images = append(images, spec.Containers[i].Image)
	}
	return strings.Join(images, " ")
}
