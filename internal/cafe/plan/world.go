// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// World is everything that a decision about one CafeDeployment depends on. It is read only.
type World struct {
	Deployment *cafev1alpha1.CafeDeployment
	// Live is the template of the spec.
	Live revision.Revision
	// Revisions are the deployment's own.
	Revisions []revision.Revision
	// Taken are names of revisions that it cannot use, because objects of others have them.
	Taken map[string]bool
	// Units are those that have a pod set, whether or not the topology still names them.
	Units []Unit
}

// Unit is what one unit shows.
type Unit struct {
	Name string
	// Sets are its pod sets, by name: one, or of ReplicaSets one for each version.
	Sets []Set
	// Unschedulable is since when each of its pods that would go next finds no node for lack of resources, and Below the same of
	// pods that its sets do not lose before some that have a node. Pods is how many pods were seen together with these: what
	// the sets count may be older or newer.
	Unschedulable, Below []time.Time
	Pods                 int
}

// Set is what one pod set shows. A terminating one is left out.
type Set struct {
	Name string
	// Revision is the name of the deployment's revision whose template the set was given.
	Revision string
	// Asked is how many pods it is asked for, and Partition how many of them it is told to leave as they are.
	Asked, Partition int
	// Older are the places of pods that do not have the set's template, from below, where partitions count places. A place without
	// a pod is one of them.
	Older []int
	// Doubtful: pods that the partition keeps seem to have the template already, and they may be seen as they were before a release that
	// went back changed them.
	Doubtful bool
	// UnitAsked is how many pods the unit was asked for when it has several sets.
	UnitAsked int
	// Seen: the set's controller has acted on this spec, so the counts are about it.
	Seen bool
	// Differs says what else of the deployment has changed since the set was given it; empty when nothing has.
	Differs string
	Counts
}

// Early tells whether pods that the partition keeps seem to have the set's template. A set whose partition does not count places has none.
func (s *Set) Early(kind cafev1alpha1.PodSetType) bool {
	if !ordinal(kind) {
		return false
	}
	for n := range min(s.Partition, s.Asked) {
		if !slices.Contains(s.Older, n) {
			return true
		}
	}
	return false
}

// Counts are numbers of pods. Updated ones have the template that the set was given.
type Counts struct{ Has, Ready, Available, Updated, UpdatedAvailable int }

func (c *Counts) add(o Counts) {
	c.Has, c.Ready, c.Available = c.Has+o.Has, c.Ready+o.Ready, c.Available+o.Available
	c.Updated, c.UpdatedAvailable = c.Updated+o.Updated, c.UpdatedAvailable+o.UpdatedAvailable
}

// Plan is what to do now, and what to write down.
type Plan struct {
	// Steps are about revisions and the deployment's own annotations.
	Steps []step.Step
	// Asks are what pod sets are asked for.
	Asks []Ask
	// LookAgain is when time alone will change the answer; 0 when only an event can.
	LookAgain time.Duration
	// Status is what the deployment shows from now on, without its conditions. When it decides something, there are no
	// asks: they follow when it stands in writing.
	Status cafev1alpha1.CafeDeploymentStatus
	// Annotates: the steps change the deployment itself, so its status can only be written in the next pass.
	Annotates bool

	// Invalid says what in the template or selector cannot be acted on, and Topology why the split is impossible. Then
	// nothing is asked of anybody.
	Invalid, Topology error
	// Waits say what the release waits for, and Full which units have no room for pods that nobody else takes.
	Waits, Full []string
	// Confirm says which group waits for a person; empty when none does.
	Confirm string
	// Lacks says which units have fewer available pods than the release leaves them.
	Lacks []string
	// News are what people are told once the status is written.
	News []News
}

// News is an event about the deployment, of type Normal.
type News struct {
	Reason, Note string
}

// Ask is what a pod set is asked for, with the reason in one sentence.
type Ask struct {
	Why string
	// Unit is the name of the unit, and Set that of its pod set; empty for one that is to be created.
	Unit, Set string
	// Revision is whose template the set has afterwards, when GivesTemplate is set or the set is new.
	Revision      string
	GivesTemplate bool
	// Replicas and Partition are the numbers it has afterwards. UnitReplicas is those of all sets of the unit.
	Replicas, Partition, UnitReplicas int
	// Deletes: the set has no pods any more and goes.
	Deletes bool
}

// versioned tells whether a unit has one pod set for each version.
func versioned(kind cafev1alpha1.PodSetType) bool { return kind == cafev1alpha1.ReplicaSetPodSetType }

// ordinal tells whether a partition counts places from below, whatever version their pods have.
func ordinal(kind cafev1alpha1.PodSetType) bool {
	return kind == cafev1alpha1.StatefulSetPodSetType || kind == cafev1alpha1.AdvancedStatefulSetPodSetType
}
