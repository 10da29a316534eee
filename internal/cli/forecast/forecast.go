// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/story"
)

// Forecast is what a manifest would do to one workload.
type Forecast struct {
	File       string `json:"file"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// New: the object does not exist yet.
	New bool `json:"new,omitempty"`
	// Fields are the fields of the spec that change.
	Fields   []Field  `json:"fields,omitempty"`
	Warnings []string `json:"warnings,omitempty"`

	story.Story `json:",inline"`

	title string
}

// plannedUID stands for the UID that an object gets when it is created.
const plannedUID = types.UID("planned")

// New foretells what happens when a live object becomes wanted.
func New(file string, k Kind, live Live, wanted client.Object, now time.Time) (*Forecast, error) {
	wanted = wanted.DeepCopyObject().(client.Object)
	k.Default(wanted)
	if wanted.GetUID() == "" {
		wanted.SetUID(plannedUID)
	}
	f := &Forecast{
		File: file, APIVersion: k.GVK.GroupVersion().String(), Kind: k.GVK.Kind, title: k.Title,
		Namespace: wanted.GetNamespace(), Name: wanted.GetName(), New: live.Object == nil,
	}
	var err error
	if live.Object != nil {
		if f.Fields, err = k.Fields(live.Object, wanted); err != nil {
			return f, err
		}
		if live.Object.GetDeletionTimestamp() != nil {
			f.Warn("the object is being deleted: its controller does nothing more")
		}
		if live.NodeLabels == nil && k.UsesNodes != nil && !k.NodesOfNew && k.UsesNodes(wanted) {
			f.Warn("no nodes are known: topologySpreadConstraints are not counted, so other pods may be deleted than are named")
		}
	}
	f.Story, err = k.Tell(wanted, live, now)
	return f, err
}

// ChangesAnything tells whether anything changes at all: a field of the object, or what its controller does.
func (f *Forecast) ChangesAnything() bool { return f.New || len(f.Fields) > 0 || !f.Empty() }

// Refusal says what in the spec keeps the controller from doing anything; empty when nothing does.
func (f *Forecast) Refusal() string { return f.Invalid }

// Warn adds what somebody should know who reads the forecast.
func (f *Forecast) Warn(warnings ...string) { f.Warnings = append(f.Warnings, warnings...) }
