// SPDX-License-Identifier: Apache-2.0

package budget

// Options change what is counted.
type Options struct {
	// ExcludePreparingDelete replaces a pod as soon as it prepares for its
	// deletion, instead of counting it until it is gone.
	ExcludePreparingDelete bool
	// PartitionRollback moves pods back to the current revision when the
	// partition is raised above the number of old pods.
	PartitionRollback bool
	// SameRevision says that the current and the update revision are the
	// same: there is nothing to go back to, and every creation is new.
	SameRevision bool
}

// Split is a number of pods on each side of a release.
type Split struct {
	Old, New int
}

// Total returns the pods of both sides.
func (s Split) Total() int { return s.Old + s.New }

// Scaling holds the quantities of one pass, in pods. Only Wish and Cap may be
// negative.
type Scaling struct {
	// Revoke is the number of pods whose deletion may still be called off.
	Revoke int
	// Need is the number of pods missing; NeedOld of them, at most, belong to
	// the current revision.
	Need, NeedOld int
	// Create is what may be created now: Old from the current revision, New
	// from the update revision.
	Create Split
	// Limited says that creation is held back: Need is more than Create, by
	// HeldBack pods.
	Limited  bool
	HeldBack int
	// Over is the number of pods too many, chosen pods not counted; OverOld is
	// the number of old pods above their share.
	Over, OverOld int
	// DeleteBudget is the number of available pods that may be deleted.
	DeleteBudget int
	// Wish is the number of pods to move to the update revision, or, when
	// negative, to the current revision.
	Wish int
	// Cap bounds the unavailable pods while updating.
	Cap int
	// SurgeForDeletion and SurgeForUpdate are the pods above the replicas that
	// each purpose could use; Surge is what is used, SurgeOld its old part.
	SurgeForDeletion, SurgeForUpdate, Surge, SurgeOld int
}

// Victims returns how many pods of each side a scale-in takes: old pods as far
// as there are more than their share, the rest new ones.
func (s Scaling) Victims() Split {
	old := min(s.Over, s.OverOld)
	return Split{Old: old, New: s.Over - old}
}

// Scale computes the quantities of one pass.
func Scale(l Limits, c Counts, o Options) Scaling {
	oldGap, newGap := gaps(l, c, o)
	s := surge(l, c, oldGap, newGap)

	total, totalOld := c.Active(), c.Old.All
	if o.ExcludePreparingDelete {
		total -= c.PreparingDelete()
		totalOld -= c.Old.PreparingDelete
	}

	// Pods that are going anyway need not go if too few would remain.
	s.Revoke = atLeast0(l.Replicas - c.Active() + c.Chosen() + c.PreparingDelete())

	s.Need = atLeast0(l.Replicas + s.Surge - total)
	s.NeedOld = atLeast0(l.Partition + s.SurgeOld - totalOld)
	s.Create, s.Limited = creation(l, c, s, Split{Old: totalOld, New: total - totalOld})
	s.HeldBack = s.Need - s.Create.Total()
	if o.SameRevision {
		s.Create = Split{New: s.Create.Total()}
	}

	s.Over = atLeast0(total - c.Chosen() - (l.Replicas + s.Surge))
	s.OverOld = atLeast0(totalOld - c.Old.Chosen - (l.Partition + s.SurgeOld))
	s.Cap = l.Unavailable + c.Active() - l.Replicas
	if c.Chosen() > 0 || s.Over > 0 {
		// Chosen pods that are unavailable count too: they are deleted freely,
		// and that must not free an available pod in the same pass.
		s.DeleteBudget = atLeast0(s.Cap - c.notAvailable())
	}
	s.Wish = wish(oldGap, newGap)
	return s
}

// gaps returns how far each side is from its share: positive means too many.
// Old pods are never made, and new pods never unmade, just to reach the
// partition, unless rolling back by partition is asked for.
//
// New pods that were chosen for deletion are as good as gone: counted as
// updated, they would keep a broken old pod from its update, and that pod,
// being unavailable, would keep them from their deletion.
func gaps(l Limits, c Counts, o Options) (oldGap, newGap int) {
	oldGap = c.Old.All - c.Old.PreparingDelete - l.Partition
	newGap = c.New.All - c.New.PreparingDelete - c.New.Chosen - (l.Replicas - l.Partition)
	if o.PartitionRollback && !o.SameRevision {
		return oldGap, newGap
	}
	return max(oldGap, 0), min(newGap, 0)
}

// surge returns the surge parts of a Scaling. Replacing chosen pods and
// updating pods share one surge: the larger wish of both is granted.
func surge(l Limits, c Counts, oldGap, newGap int) Scaling {
	var s Scaling
	var deletionOld, updateOld int
	if chosen := c.Chosen(); chosen > 0 {
		s.SurgeForDeletion = min(atLeast0(c.missing()+chosen-l.Unavailable), chosen)
		deletionOld = atLeast0(s.SurgeForDeletion - c.New.Chosen)
	}
	switch {
	case oldGap > 0 && newGap < 0:
		s.SurgeForUpdate = min(oldGap, -newGap)
	case oldGap < 0 && newGap > 0:
		s.SurgeForUpdate = min(-oldGap, newGap)
		updateOld = s.SurgeForUpdate
	}
	if s.SurgeForDeletion >= s.SurgeForUpdate {
		s.Surge, s.SurgeOld = s.SurgeForDeletion, deletionOld
	} else {
		s.Surge, s.SurgeOld = s.SurgeForUpdate, updateOld
	}
	s.Surge, s.SurgeOld = min(s.Surge, l.Surge), min(s.SurgeOld, l.Surge)
	return s
}

// creation takes old pods first, but not where it is held back and they would be above the replicas, or there are more old
// pods than the partition keeps already: one old pod too many would be updated at once, and if that takes a new pod, the
// same old pod would be created again for ever.
func creation(l Limits, c Counts, s Scaling, have Split) (create Split, limited bool) {
	n := s.Need
	if l.CreateUnavailable != nil {
		n = min(n, atLeast0(*l.CreateUnavailable-c.missing()))
	}
	missing, missingOld := atLeast0(l.Replicas-have.Total()), atLeast0(l.Partition-have.Old)
	newFirst := min(atLeast0(n-missingOld), atLeast0(missing-missingOld))
	if c.Old.All-c.Old.PreparingDelete > l.Partition {
		newFirst = max(newFirst, min(n, s.Need-s.NeedOld))
	}
	old := min(n-newFirst, s.NeedOld)
	return Split{Old: old, New: n - old}, n < s.Need
}

// wish takes the smaller gap, so that an update neither exceeds the share of
// the one side nor takes more than its own from the other. When both sides
// have too many pods, or both too few, moving one between them helps neither.
func wish(oldGap, newGap int) int {
	switch {
	case oldGap > 0 && newGap > 0, oldGap < 0 && newGap < 0:
		return 0
	case abs(oldGap) <= abs(newGap):
		return oldGap
	}
	return -newGap
}

func atLeast0(n int) int { return max(n, 0) }

func abs(n int) int { return max(n, -n) }
