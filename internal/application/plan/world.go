// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/step"
)

// World is everything that one decision depends on.
type World struct {
	App *oamv1beta1.Application
	// Latest is the name of the revision that is to be deployed.
	Latest string
	// Components are those of that revision, in the order of the application.
	Components []Component
	// Rollout is the AppRollout of the application's own name; nil for none. Someone names who has made it when it is not ours.
	Rollout *oamv1beta1.AppRollout
	Someone string
	// Managers are the field managers of this program.
	Managers []string
	// Applied are the objects in status.appliedResources that are still there.
	Applied []*unstructured.Unstructured
}

// Component is a component as it was rendered and as it lives.
type Component struct {
	delivery.Component
	// Driven: it is known how a workload of the kind is rolled out. Versions: it holds two versions at once.
	Driven, Versions bool
	// Sized: the kind has a number of pods, and Size is the one that was rendered.
	Sized bool
	Size  int
	// Of the one of Live that is on its revision or, without one, that has most pods: Settled is what to apply so that its pods stay
	// as they are, Released what to apply when its own controller is to roll it out, and Opened how it would be if no rollout had left
	// anything in it that holds back pods; nil when there is none, nothing to be opened, or somebody else in charge.
	Settled, Released, Opened *unstructured.Unstructured
	// Live are its workloads in the cluster: one, or one for each revision of a kind that holds one version.
	Live []*unstructured.Unstructured
	// Mixed: it holds two versions at once, and its own controller has seen that it has pods of an older one. Even: that one has seen
	// that all of its pods are there, and on its template, whichever that is.
	Mixed, Even bool
	// Named has the name that its workload would have, and is not its own; nil when the name is free or its own.
	Named *unstructured.Unstructured
	// LiveExtras are its other objects as they live, nil for what is not there: one for each of Extras.
	LiveExtras []*unstructured.Unstructured
	// Healthy: all its pods are on its revision, and available. Waits says what is missing.
	Healthy bool
	Waits   string
}

// Plan is what to do now.
type Plan struct {
	Steps []step.Step
	// Blocked says why something of the revision cannot be deployed; empty when nothing is in the way.
	Blocked string
	// Rolling is what is rolled out now, for people; empty for nothing.
	Rolling string
	// Done: the latest revision is deployed, and nothing of older ones is left.
	Done bool
}

// Seen are all objects that were found of the application, or in the place of one. Some may be in it twice.
func (w *World) Seen() []*unstructured.Unstructured {
	all := slices.Clone(w.Applied)
	for i := range w.Components {
		all = append(append(all, w.Components[i].Live...), w.Components[i].LiveExtras...)
	}
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return o == nil })
}

// Owns tells whether an object is the application's.
func (w *World) Owns(o *unstructured.Unstructured) bool { return w.application().Owns(o) }

func (w *World) application() delivery.Application {
	return delivery.Application{Namespace: w.App.Namespace, Name: w.App.Name, UID: w.App.UID}
}
