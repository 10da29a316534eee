// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// declared is a kind that is driven by paths alone.
type declared struct {
	byNumber
	id     schema.GroupVersionKind
	fields places
	// counted are where its status counts pods.
	counted struct{ pods, ready, available, updated, updatedAvailable path }
}

func (k declared) ID() schema.GroupVersionKind { return k.id }

func (k declared) places() places { return k.fields }

func (k declared) look(s *Seen, _ time.Time) error {
	if _, stands := k.fields.replicas.number(s.Object); !stands {
		return fmt.Errorf("there is no number at %s", k.fields.replicas)
	}
	c := counts{pods: k.counted.pods.count(s.Object), ready: k.counted.ready.count(s.Object), available: k.counted.available.count(s.Object)}
	if len(k.fields.partition) > 0 {
		c.updated, c.updatedAvailable = k.counted.updated.count(s.Object), k.counted.updatedAvailable.count(s.Object)
		s.fill(c)
		return nil
	}
	w := &s.Workload
	w.Pods, w.Ready, w.Available = c.pods, c.ready, c.available
	w.Busy = s.busy(false)
	if !s.ask.Scales && !s.ask.Pair {
		w.Unfit = fmt.Sprintf("a %s cannot be updated in place as long as nobody says where its partition is: annotate its CustomResourceDefinition with %s, %s and %s; "+
			"or give spec.sourceRef, or spec.rolloutPlan.targetSize", k.id.Kind, annotationOf(partitionPath), annotationOf(updatedPath), annotationOf(updatedAvailablePath))
	}
	return nil
}

// The names of paths, in annotations and in the file of kinds.
const (
	replicasPath           = "replicas-path"
	templatePath           = "template-path"
	partitionPath          = "partition-path"
	pausedPath             = "paused-path"
	observedGenerationPath = "observed-generation-path"
	podsPath               = "pods-path"
	readyPath              = "ready-path"
	availablePath          = "available-path"
	updatedPath            = "updated-path"
	updatedAvailablePath   = "updated-available-path"
	currentRevisionPath    = "current-revision-path"
)

// annotationPrefix is before the name of a path in an annotation.
const annotationPrefix = "rollout.slipway.dev/"

func annotationOf(name string) string { return annotationPrefix + name }

// Declaration describes a kind by where it keeps what a rollout reads and changes.
type Declaration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Paths by their names.
	Paths map[string]string `json:"paths"`
}

// declarationOn reads a declaration from the annotations of a CustomResourceDefinition.
func declarationOn(id schema.GroupVersionKind, annotations map[string]string) Declaration {
	d := Declaration{APIVersion: id.GroupVersion().String(), Kind: id.Kind, Paths: map[string]string{}}
	for key, value := range annotations {
		if name, ours := strings.CutPrefix(key, annotationPrefix); ours && strings.HasSuffix(name, "-path") {
			d.Paths[name] = value
		}
	}
	return d
}
