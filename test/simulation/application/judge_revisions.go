// SPDX-License-Identifier: Apache-2.0

package application

import (
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// history is what was recorded of one application.
type history struct {
	number int64
	// last is the hash of the newest revision. Objects are, by hash, what components were rendered to, of revisions that are there.
	last    string
	objects map[string]string
	// asked is what the manager had seen when it made that one: components and definitions.
	asked string
}

// revisionWrite: revisions are numbered one by one, each has another content than the one before, and the same content has the same
// objects; and what somebody uses stays.
func (j *judge) revisionWrite(w api.Write, r *oamv1beta1.ApplicationRevision) error {
	if w.Verb == api.Remove {
		if user := j.userOf(r.Name); user != "" {
			return fmt.Errorf("%s uses it", user)
		}
		j.unknown(r)
		return nil
	}
	of := metav1.GetControllerOf(r)
	if of == nil || of.Kind != oamv1beta1.ApplicationKind {
		return fmt.Errorf("its controller is %v", of)
	}
	if app := j.application(); app == nil || app.UID != of.UID {
		return nil // it is gone, and the manager does not know; so will this go
	}
	h := j.histories[of.UID]
	if h == nil {
		h = &history{objects: map[string]string{}}
		j.histories[of.UID] = h
	}
	next := h.number + 1
	for next < r.Spec.Revision && j.taken(api.ApplicationRevisions, fmt.Sprintf("%s-v%d", of.Name, next)) {
		next++ // a namesake's, which is about to go
	}
	hash := r.Labels[oamv1beta1.LabelAppRevisionHash]
	switch {
	case r.Spec.Revision != next || r.Name != fmt.Sprintf("%s-v%d", of.Name, next):
		return fmt.Errorf("it has the number %d, and the next one is %d", r.Spec.Revision, next)
	case hash == h.last:
		return fmt.Errorf("it has the content of the revision before, by the hash %s", hash)
	}
	asked := askedIn(j.view)
	if asked == h.asked {
		return errors.New("nothing has changed that is recorded")
	}
	h.number, h.last, h.asked = next, hash, asked
	objects := textOf(r)
	if known, repeated := h.objects[hash]; repeated && known != objects {
		return fmt.Errorf("the same content has other objects:\n%s\n%s", known, objects)
	}
	h.objects[hash] = objects
	return nil
}

// unknown forgets the objects of a revision that goes, unless another one has its content: they can only be made anew.
func (j *judge) unknown(gone *oamv1beta1.ApplicationRevision) {
	h, hash := j.histories[metav1.GetControllerOf(gone).UID], gone.Labels[oamv1beta1.LabelAppRevisionHash]
	if h == nil {
		return
	}
	for _, o := range j.Server.List(api.ApplicationRevisions) {
		if o.GetName() != gone.Name && o.GetLabels()[oamv1beta1.LabelAppRevisionHash] == hash {
			return
		}
	}
	delete(h.objects, hash)
}

// askedIn is all of a view that makes a revision.
func askedIn(view *api.Cache) string {
	app := typed(view.Peek(api.Applications, world.TheSet))
	if app == nil {
		return ""
	}
	asked := []any{app.Spec.Components}
	for _, stored := range []api.Kind{api.ComponentDefinitions, api.TraitDefinitions} {
		for _, o := range view.All(stored) {
			switch o := o.(type) {
			case *oamv1beta1.ComponentDefinition:
				asked = append(asked, o.Spec.Schematic)
			case *oamv1beta1.TraitDefinition:
				asked = append(asked, o.Spec.Schematic)
			}
		}
	}
	raw, err := json.Marshal(asked)
	if err != nil {
		panic(fmt.Sprintf("an application cannot be written: %v", err))
	}
	return string(raw)
}

// textOf are the objects of a revision, to the byte.
func textOf(r *oamv1beta1.ApplicationRevision) string {
	text := ""
	for i := range r.Spec.ComponentRevisions {
		c := &r.Spec.ComponentRevisions[i]
		text += c.Name + " " + string(c.Workload.Raw)
		for _, extra := range c.Resources {
			text += " " + extra.Name + " " + string(extra.Object.Raw)
		}
		text += "\n"
	}
	return text
}

func (j *judge) taken(stored api.Kind, name string) bool {
	return j.Server.Get(stored, types.NamespacedName{Namespace: world.Namespace, Name: name}) != nil
}

// applied are all objects that definitions have made.
func (j *judge) applied() []client.Object {
	var all []client.Object
	for _, stored := range watched {
		for _, o := range j.Server.List(stored) {
			if o.GetLabels()[oamv1beta1.LabelAppName] != "" {
				all = append(all, o)
			}
		}
	}
	return all
}

// userOf is who uses a revision of the application; empty for nobody.
func (j *judge) userOf(name string) string {
	if app := j.application(); app != nil && app.Status.LatestRevision != nil && app.Status.LatestRevision.Name == name {
		return "the application"
	}
	for _, o := range j.Server.List(api.AppRollouts) {
		r := o.(*oamv1beta1.AppRollout)
		if r.Spec.TargetAppRevisionName == name || r.Spec.SourceAppRevisionName == name || r.Status.LastTargetAppRevision == name || r.Status.LastSourceAppRevision == name {
			return "AppRollout " + r.Name
		}
	}
	for _, o := range j.applied() {
		if o.GetLabels()[oamv1beta1.LabelAppRevision] == name {
			return o.GetName()
		}
	}
	return ""
}

// componentForgotten: what an object or a revision of the application has stays.
func (j *judge) componentForgotten(gone *appsv1.ControllerRevision) error {
	for _, o := range j.applied() {
		if o.GetLabels()[oamv1beta1.LabelComponentRevision] == gone.Name && owns(o, metav1.GetControllerOf(gone).UID) {
			return fmt.Errorf("%s uses it", o.GetName())
		}
	}
	for _, o := range j.Server.List(api.ApplicationRevisions) {
		for _, c := range o.(*oamv1beta1.ApplicationRevision).Spec.ComponentRevisions {
			if c.Revision == gone.Name && metav1.GetControllerOf(o).UID == metav1.GetControllerOf(gone).UID {
				return fmt.Errorf("ApplicationRevision %s has it", o.GetName())
			}
		}
	}
	return nil
}
