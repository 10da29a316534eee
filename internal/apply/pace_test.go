// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// crowd are pods p00, p01 and so on that are stored.
func crowd(t *testing.T, n int) *server {
	t.Helper()
	var pods []client.Object
	for i := range n {
		pods = append(pods, builders.Pod(fmt.Sprintf("p%02d", i)).Build())
	}
	return serve(t, pods...)
}

// deletions are steps that delete the pods that are there of those with these names.
func (s *server) deletions(t *testing.T, names ...string) []step.Step {
	t.Helper()
	var steps []step.Step
	for _, name := range names {
		steps = append(steps, step.DeletePod{Because: "not wanted", Target: step.On(s.pod(t, name))})
	}
	return steps
}

// refusing lets writes fail that end with one of these names.
func refusing(names ...string) func(string) error {
	return func(write string) error {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(write, " "+name) }) {
			return errors.New("a rule says no")
		}
		return nil
	}
}

func TestDeletionStartsSlowlyAndStopsAtTheBatchThatFails(t *testing.T) {
	s := crowd(t, 20)
	s.fail = refusing("p03")
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("p%02d", i))
	}
	outcomes := s.take(t, s.deletions(t, names...)...)
	if len(outcomes) != 1+2+4 || apply.Errors(outcomes) == nil {
		t.Errorf("%d deletions were tried, want the batches of 1, 2 and 4; error %v", len(outcomes), apply.Errors(outcomes))
	}
}

func TestADeletionThatFailsStopsNoCreation(t *testing.T) {
	s := crowd(t, 1)
	s.fail = refusing("p00")
	s.take(t, append(s.deletions(t, "p00"), step.CreatePod{Pod: newPodNamed("new")})...)
	if diff := cmp.Diff([]string{"delete p00", "create new"}, s.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// A pod that can never be deleted, and one that can never be created, must not hold up those behind them for ever.
func TestWhatFailedIsTriedAgainBehindTheOthers(t *testing.T) {
	s := crowd(t, 4)
	s.fail = refusing("p00", "p01", "new-0")
	a := apply.New(s, freshness.New(s, s, clocktesting.NewFakePassiveClock(time.Unix(0, 0)), 0), apply.Options{Concurrency: 1})
	var left = []string{"p00", "p01", "p02", "p03"}
	missing := []string{"new-0", "new-1"}
	for range 4 {
		steps := s.deletions(t, left...)
		for _, name := range missing {
			steps = append(steps, step.CreatePod{Pod: newPodNamed(name)})
		}
		for _, o := range a.Steps(t.Context(), "set", steps) {
			if o.Err == nil {
				same := func(name string) bool { return name == o.Step.Subject() }
				left, missing = slices.DeleteFunc(left, same), slices.DeleteFunc(missing, same)
			}
		}
	}
	if diff := cmp.Diff([]string{"p00", "p01"}, left); diff != "" {
		t.Errorf("not deleted (-want +got):\n%s\nwrites: %q", diff, s.writes)
	}
	if diff := cmp.Diff([]string{"new-0"}, missing); diff != "" {
		t.Errorf("not created (-want +got):\n%s\nwrites: %q", diff, s.writes)
	}

	s.fail, s.writes = refusing(), nil // nothing is held against those that failed when they succeed
	a.Steps(t.Context(), "set", s.deletions(t, "p00", "p01"))
	a.Forget("set")
	if diff := cmp.Diff([]string{"delete p00", "delete p01"}, s.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
