// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/step"
)

// Books are the revisions of one set beside its template.
type Books struct {
	// Owner is the set; it gives namespace, name prefix and annotations of revisions. Reference makes it their
	// controller.
	Owner     metav1.Object
	Reference metav1.OwnerReference
	// Live is the template of the spec, which could be read.
	Live Revision
	// Own are the revisions that the set controls, and Orphans those that match its selector and belong to nobody.
	Own, Orphans []Revision
	// Current is the name of the revision that was last rolled out completely, as far as it is known.
	Current string
	// Taken are names that objects of others have.
	Taken map[string]bool
	// CollisionCount is how often the name of a revision was found taken before.
	CollisionCount int32
	// Annotations are what revisions carry besides the annotations of the owner. It is called only when one is
	// written; nil for none.
	Annotations func() map[string]string
}

// Entry is what the books say of the live template, and what has to be written into them.
type Entry struct {
	// Update is the revision of the live template; it has no object when it has to be created first.
	Update Revision
	// Current is the revision that was last rolled out completely, else the update revision.
	Current Revision
	// Steps adopt orphans, and create or renumber the update revision.
	Steps []step.Step
	// Recorded: the update revision exists. Otherwise nothing is to be done to pods yet: they must not carry the
	// name of a revision that does not exist.
	Recorded bool
	// CollisionCount counts the names that were found taken now, too.
	CollisionCount int32
	// Err says why the live template cannot be recorded.
	Err error
}

// Record finds out which revision the live template is, and which revision is current.
func (b Books) Record() Entry {
	e := Entry{CollisionCount: b.CollisionCount, Recorded: true}
	for _, orphan := range b.Orphans {
		e.Steps = append(e.Steps, step.AdoptRevision{
			Because: "it matches the selector and nobody controls it", Target: step.On(orphan.Object), Owners: b.adopting(orphan),
		})
	}
	listed := slices.Concat(b.Own, b.Orphans)
	Sort(listed)
	switch found := Decide(listed, b.Live).(type) {
	case Unchanged:
		e.Update = found.Revision
	case RollBack:
		e.Update = found.Revision
		e.Steps = append(e.Steps, step.RenumberRevision{
			Because: step.Because("the template is that of this earlier revision again"),
			Target:  step.On(found.Revision.Object), Number: found.Number, Annotations: b.annotations(),
		})
	case New:
		e.Recorded = false
		b.open(&e, found)
	}
	e.Current = e.Update
	for _, r := range listed {
		if r.Name == b.Current {
			e.Current = r
		}
	}
	return e
}

// adopting are the owners of an orphan that the set adopts: others may own it beside its controller.
func (b Books) adopting(orphan Revision) []metav1.OwnerReference {
	others := slices.DeleteFunc(slices.Clone(orphan.Object.OwnerReferences), func(o metav1.OwnerReference) bool { return o.UID == b.Reference.UID })
	return append(others, b.Reference)
}

// open plans the revision of a new template, under the first name that is free.
func (b Books) open(e *Entry, found New) {
	annotations := b.annotations()
	for {
		object, err := Draft{
			Owner: b.Owner, Reference: b.Reference, Template: found.Template, Number: found.Number,
			CollisionCount: e.CollisionCount, Annotations: annotations,
		}.Object()
		if err != nil {
			e.Err = fmt.Errorf("spec.template: %w", err)
			return
		}
		if b.Taken[object.Name] {
			e.CollisionCount++
			continue
		}
		e.Update = b.Live
		e.Update.Name, e.Update.Hash, e.Update.Number = object.Name, HashOf(object.Name), found.Number
		e.Steps = append(e.Steps, step.CreateRevision{Because: "no revision holds this template yet", Revision: object})
		return
	}
}

func (b Books) annotations() map[string]string {
	if b.Annotations == nil {
		return nil
	}
	return b.Annotations()
}

// Forget are the steps that delete those of a set's own revisions which history no longer needs: see Expired.
func Forget(own []Revision, live []string, limit int) []step.Step {
	var steps []step.Step
	for _, old := range Expired(own, live, limit) {
		steps = append(steps, step.ForgetRevision{
			Because: step.Because(fmt.Sprintf("no pod carries it and only %d earlier revisions are kept", limit)), Target: step.On(old.Object),
		})
	}
	return steps
}
