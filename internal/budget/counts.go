// SPDX-License-Identifier: Apache-2.0

package budget

// Class counts the active pods of one side of a release. A pod counts in at
// most one of PreparingDelete, Chosen and Bad, the first that holds.
type Class struct {
	// All counts every active pod of the class.
	All int
	// PreparingDelete counts pods that wait for their deletion hook.
	PreparingDelete int
	// Chosen counts pods that a user chose for deletion.
	Chosen int
	// ChosenBad counts those of Chosen that are not available.
	ChosenBad int
	// Bad counts the other pods that are not available.
	Bad int
}

// Member is what a class needs to know about one pod.
type Member struct {
	PreparingDelete, Chosen, Available bool
}

// Add counts one active pod.
func (c *Class) Add(m Member) {
	c.All++
	switch {
	case m.PreparingDelete:
		c.PreparingDelete++
	case m.Chosen:
		c.Chosen++
		if !m.Available {
			c.ChosenBad++
		}
	case !m.Available:
		c.Bad++
	}
}

// Counts holds the two sides of a release. New are the pods of the update
// revision, Old all others.
//
// For scaling, a pod that prepares for its update counts as new, because it
// will be; for updating, every pod counts by the revision it carries.
type Counts struct {
	Old, New Class
}

// Active returns the number of active pods.
func (c Counts) Active() int { return c.Old.All + c.New.All }

// PreparingDelete returns the number of pods that wait for their deletion hook.
func (c Counts) PreparingDelete() int { return c.Old.PreparingDelete + c.New.PreparingDelete }

// Chosen returns the number of pods chosen for deletion that are not
// preparing for it yet.
func (c Counts) Chosen() int { return c.Old.Chosen + c.New.Chosen }

// missing counts pods that serve nobody now, whatever is chosen.
func (c Counts) missing() int {
	return c.PreparingDelete() + c.Old.Bad + c.New.Bad
}

// notAvailable counts every pod that is not available.
func (c Counts) notAvailable() int {
	return c.missing() + c.Old.ChosenBad + c.New.ChosenBad
}
