// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"cmp"
	"slices"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// History is what there is of an application's revisions.
type History struct {
	// Application is the name of the application.
	Application string
	// Own are the revisions that the application controls, in any order.
	Own []*oamv1beta1.ApplicationRevision
	// Highest is the highest number that is known to have been used, also by a revision that is gone: that of
	// status.latestRevision.
	Highest int64
	// Taken are names that objects of others have.
	Taken map[string]bool
}

// Outcome is what the history says about a content: Unchanged, Again or New.
type Outcome interface{ outcome() }

// Unchanged: the newest revision has the content. Nothing is written.
type Unchanged struct {
	Revision *oamv1beta1.ApplicationRevision
	Hash     string
}

// Again: an earlier revision has the content. A new revision is to be made of its snapshot: see Repeat.
type Again struct {
	Earlier *oamv1beta1.ApplicationRevision
	Next    oamv1beta1.Revision
}

// New: no revision has the content. One is to be made: see Draft.
type New struct{ Next oamv1beta1.Revision }

func (Unchanged) outcome() {}
func (Again) outcome()     {}
func (New) outcome()       {}

// Decide says which revision the content is. Of several earlier ones with the content the newest wins. Revisions that cannot
// be read, or that hold no objects because they were made by something else, equal nothing and only count for the number.
// It fails when the content has no hash, and when there is no number left.
func (h History) Decide(content Content) (Outcome, error) {
	hash, err := content.Hash()
	if err != nil {
		return nil, err
	}
	own := sorted(h.Application, h.Own)
	if len(own) > 0 {
		if newest := own[len(own)-1]; holds(newest, hash) {
			return Unchanged{Revision: newest, Hash: hash}, nil
		}
	}
	highest := h.Highest
	for _, revision := range own {
		highest = max(highest, numberOf(h.Application, revision))
	}
	number, err := nextFree(h.Application, highest, h.Taken)
	if err != nil {
		return nil, err
	}
	next := oamv1beta1.Revision{Name: Name(h.Application, number), Revision: number, RevisionHash: hash}
	for _, revision := range slices.Backward(own) {
		if holds(revision, hash) {
			return Again{Earlier: revision, Next: next}, nil
		}
	}
	return New{Next: next}, nil
}

// holds tells whether a revision was made from the content with the hash, and holds its objects. What it was made from decides,
// not its label: people can change that, and it may be of a time when other things counted.
func holds(revision *oamv1beta1.ApplicationRevision, hash string) bool {
	if !IsComplete(revision) {
		return false
	}
	own, err := ContentOf(revision).Hash()
	return err == nil && own == hash
}

// IsComplete tells whether a revision holds the workload of each of its components, so that it can be deployed.
func IsComplete(revision *oamv1beta1.ApplicationRevision) bool {
	have := map[string]bool{}
	for i := range revision.Spec.ComponentRevisions {
		component := &revision.Spec.ComponentRevisions[i]
		have[component.Name] = component.Revision != "" && component.Workload != nil && len(component.Workload.Raw) > 0
	}
	for i := range revision.Spec.Application.Spec.Components {
		if !have[revision.Spec.Application.Spec.Components[i].Name] {
			return false
		}
	}
	return true
}

func numberOf(app string, revision *oamv1beta1.ApplicationRevision) int64 {
	return max(min(revision.Spec.Revision, maxNumber), NumberOf(app, revision.Name))
}

// sorted returns the revisions by number, the oldest first.
func sorted(app string, revisions []*oamv1beta1.ApplicationRevision) []*oamv1beta1.ApplicationRevision {
	return slices.SortedStableFunc(slices.Values(revisions), func(a, b *oamv1beta1.ApplicationRevision) int {
		return cmp.Or(cmp.Compare(numberOf(app, a), numberOf(app, b)), cmp.Compare(a.Name, b.Name))
	})
}
