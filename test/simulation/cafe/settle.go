// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// soon is how long a release may take when everybody confirms and there is room: some groups of pods that take half a minute each, and
// moved quota that has to rest.
const soon = 40 * time.Minute

// Calms gives all cells room, or has quota stay where it is: between cells that are full it would move for ever.
func (s *simulation) Calms() {
	if s.Random.IntN(2) == 0 {
		clear(s.cells.room)
		s.Tell("cells: all have room for any number")
		return
	}
	for _, d := range s.all() {
		s.edit(d, func(d *cafev1alpha1.CafeDeployment) { d.Spec.Topology.AutoReschedule.Enable = false })
	}
}

// StandsStill looks at deployments that go no further: they say why.
func (s *simulation) StandsStill() error {
	for _, d := range s.all() {
		if err := says(d); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return nil
}

// says: what is not as wanted has a reason that a person can read.
func says(d *cafev1alpha1.CafeDeployment) error {
	conditions := map[cafev1alpha1.ConditionType]cafev1alpha1.Condition{}
	for _, c := range d.Status.Conditions {
		conditions[c.Type] = c
	}
	is := func(kind cafev1alpha1.ConditionType, status string, words ...string) error {
		c := conditions[kind]
		if string(c.Status) != status {
			return fmt.Errorf("in phase %s, condition %s is %q, not %s", d.Status.Phase, kind, c.Status, status)
		}
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return fmt.Errorf("in phase %s, condition %s says %q, and not %q", d.Status.Phase, kind, c.Message, word)
			}
		}
		if c.Message == "" {
			return fmt.Errorf("in phase %s, condition %s says nothing", d.Status.Phase, kind)
		}
		return nil
	}
	if _, adds := shares(d); !adds {
		return is("TopologyValid", "False")
	}
	if d.Status.ObservedGeneration != d.Generation {
		return fmt.Errorf("generation %d is not looked at", d.Generation)
	}
	waiting := d.Annotations[confirmed] == "false"
	switch d.Status.Phase {
	case cafev1alpha1.StablePhase:
		return is("Ready", "True")
	case cafev1alpha1.WaitingForConfirmPhase:
		if !waiting {
			return fmt.Errorf("phase %s, and nobody is asked", d.Status.Phase)
		}
		return is("WaitingForConfirm", "True", "group", confirmed)
	case cafev1alpha1.PausedPhase:
		return is("Ready", "False")
	case cafev1alpha1.BlockedPhase, cafev1alpha1.ProgressingPhase:
	}
	if waiting && !d.Spec.Strategy.Pause {
		return fmt.Errorf("a person is asked, and the phase is %s", d.Status.Phase)
	}
	if err := is("Progressing", map[bool]string{true: "False", false: "True"}[d.Status.Phase == cafev1alpha1.BlockedPhase], "unit"); err != nil {
		return err
	}
	return is("Ready", "False", "unit")
}

// Converged compares all pods with what was asked for last.
func (s *simulation) Converged() error {
	log := s.Server.Log()
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Actor == world.Actor {
			if took := log[i].Time.Sub(s.begun); took > soon {
				return fmt.Errorf("it took %s to get there", took)
			}
			break
		}
	}
	for _, d := range s.all() {
		if err := s.converged(d); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return nil
}

func (s *simulation) converged(d *cafev1alpha1.CafeDeployment) error {
	given, adds := shares(d)
	if !adds {
		return fmt.Errorf("the last edit asks for what does not add up")
	}
	moves, sum := movesOf(&d.Status), 0
	for unit, n := range moves {
		given[unit] += n
	}
	if !d.Spec.Topology.AutoReschedule.Enable && len(moves) > 0 && s.judge.bookOf(d.UID).purpose != purposeOf(d) {
		return fmt.Errorf("moved quota has not gone home: %v", moves)
	}
	sets := s.judge.truth().setsOf(d.UID)
	for unit, want := range given {
		got := 0
		for _, set := range sets {
			if set.unit != unit {
				continue
			}
			if set.release != wanted(d) {
				return fmt.Errorf("pod set %s has release %q, not %q", set.object.GetName(), set.release, wanted(d))
			}
			n, err := s.settled(d, set)
			if err != nil {
				return err
			}
			got += n
		}
		sum += got
		if got != want {
			return fmt.Errorf("unit %s has %d pods, and is to have %d", unit, got, want)
		}
	}
	if sum != replicasOf(d) {
		return fmt.Errorf("%d pods over all units, and replicas is %d", sum, replicasOf(d))
	}
	for _, set := range sets {
		if !slices.Contains(unitsOf(d), set.unit) {
			return fmt.Errorf("pod set %s is still there", set.object.GetName())
		}
	}
	return s.reported(d, sum)
}

// settled is how many pods a set has, all of them available, on the release, and on nodes of their unit.
func (s *simulation) settled(d *cafev1alpha1.CafeDeployment, set podSet) (int, error) {
	pods := s.judge.truth().podsOf(set.object.GetUID())
	for _, pod := range pods {
		if world.Running(pod) != wanted(d) {
			return 0, fmt.Errorf("pod %s runs %q", pod.Name, world.Running(pod))
		}
		if !world.Available(pod, d.Spec.Strategy.MinReadySeconds, s.Clock.Now()) {
			return 0, fmt.Errorf("pod %s is not available", pod.Name)
		}
		node := s.Server.Get(api.Nodes, types.NamespacedName{Name: pod.Spec.NodeName})
		if set.unit != "" && node.GetLabels()[cellLabel] != set.unit {
			return 0, fmt.Errorf("pod %s of unit %s is on %s", pod.Name, set.unit, pod.Spec.NodeName)
		}
	}
	if set.minReady != d.Spec.Strategy.MinReadySeconds {
		return 0, fmt.Errorf("pod set %s has minReadySeconds %d", set.object.GetName(), set.minReady)
	}
	return len(pods), nil
}

// reported compares the status with the truth.
func (s *simulation) reported(d *cafev1alpha1.CafeDeployment, pods int) error {
	st := &d.Status
	if st.Phase != cafev1alpha1.StablePhase {
		return fmt.Errorf("the phase is %s", st.Phase)
	}
	for _, n := range []int32{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.UpdatedAvailableReplicas} {
		if int(n) != pods {
			return fmt.Errorf("the status says %d, and there are %d pods", n, pods)
		}
	}
	if st.CurrentGroup != 0 || st.CurrentRevision != st.UpdateRevision || !sameRelease(s.judge, st.UpdateRevision, d) {
		return fmt.Errorf("current group %d, current revision %s, update revision %s", st.CurrentGroup, st.CurrentRevision, st.UpdateRevision)
	}
	if answer, asked := d.Annotations[confirmed]; asked && answer == "false" {
		return fmt.Errorf("a person is still asked")
	}
	return says(d)
}
