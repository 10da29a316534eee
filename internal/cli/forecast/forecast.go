// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/project"
)

// Live is what there is before the manifest is applied. The zero value is nothing.
type Live struct {
	Set       *kruisev1alpha1.CloneSet
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	Claims    []*corev1.PersistentVolumeClaim
	// NodeLabels are the labels of nodes by node name; nil when no node is known. See UsesNodes.
	NodeLabels map[string]map[string]string
	// ResizeOff: the server cannot change the resources of living pods.
	ResizeOff bool
}

// UsesNodes tells whether the labels of nodes count for a set: with topology spread constraints they decide which
// pods are deleted first.
func UsesNodes(set *kruisev1alpha1.CloneSet) bool {
	return len(set.Spec.Template.Spec.TopologySpreadConstraints) > 0
}

// Forecast is what a manifest would do to one set.
type Forecast struct {
	File       string `json:"file"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// New: the set does not exist yet.
	New bool `json:"new,omitempty"`
	// Fields are the fields of the spec that change.
	Fields   []Field  `json:"fields,omitempty"`
	Warnings []string `json:"warnings,omitempty"`

	project.Story `json:",inline"`
}

// New foretells what happens when a live set becomes wanted.
func New(file string, live Live, wanted *kruisev1alpha1.CloneSet, now time.Time) (*Forecast, error) {
	wanted = Defaulted(wanted)
	f := &Forecast{File: file, APIVersion: kruisev1alpha1.GroupVersion.String(), Kind: kruisev1alpha1.CloneSetKind, Namespace: wanted.Namespace, Name: wanted.Name, New: live.Set == nil}
	if live.Set != nil {
		var err error
		if f.Fields, err = Fields(live.Set, wanted); err != nil {
			return f, err
		}
		if live.Set.DeletionTimestamp != nil {
			f.Warnings = append(f.Warnings, "the set is being deleted: its controller does nothing more")
		}
	}
	if live.Set != nil && live.NodeLabels == nil && UsesNodes(wanted) {
		f.Warnings = append(f.Warnings, "no nodes are known: topologySpreadConstraints are not counted, so other pods may be deleted than are named")
	}
	objects := project.Objects{
		Set: wanted, Pods: live.Pods, Revisions: live.Revisions, Claims: live.Claims, NodeLabels: live.NodeLabels, ResizeOff: live.ResizeOff,
	}
	f.Story = project.Of(objects.World(), now, project.Options{})
	return f, nil
}

// ChangesAnything tells whether anything changes at all: a field of the set, or what the controller does.
func (f *Forecast) ChangesAnything() bool { return f.New || len(f.Fields) > 0 || !f.Empty() }

// Refusal says what in the spec keeps the controller from doing anything; empty when nothing does.
func (f *Forecast) Refusal() string { return f.Invalid }

// Warn adds what somebody should know who reads the forecast.
func (f *Forecast) Warn(warnings ...string) { f.Warnings = append(f.Warnings, warnings...) }
