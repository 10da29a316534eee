// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// fleet are many CafeDeployments, which are made at once and released at once.
type fleet struct {
	kind cafeDeployment
	// size is how many there are, and pods how many pods each has.
	size, pods int
}

func (f fleet) key(namespace string, i int) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("fleet-%d", i)}
}

// changes are what is asked of every one of them. Nobody is asked to confirm a group: a person's time is not measured.
func (f fleet) changes() []change {
	batch := strconv.Itoa(f.kind.batch)
	return []change{
		{scenario: scenarioFleetCreate, makes: true, replicas: all},
		{scenario: scenarioFleetRelease, replicas: all, way: f.kind.way(), unavailable: batch},
	}
}

// fleetRound measures many CafeDeployments at once: they are created, get a new template, and are left alone.
func (b *bench) fleetRound(ctx context.Context) error {
	f := b.o.fleetOf()
	pods := f.size * f.pods
	if b.o.wants(scenarioCeiling) {
		b.ceiling(ctx, pods)
	}
	if !b.o.wants(scenarioFleetCreate, scenarioFleetRelease, scenarioFleetRest) {
		return nil
	}
	m, err := b.startManager(ctx)
	if err != nil {
		return err
	}
	for i, c := range f.changes() {
		wanted := b.o.wants(c.scenario)
		if i > 0 && !wanted {
			continue
		}
		r := b.fleetRow(f, c.scenario)
		scenario := func() error { return b.fleetChange(ctx, r, f, m, c, i) }
		if !wanted {
			if err := scenario(); err != nil {
				return fmt.Errorf("preparing %d pods: %w", pods, err)
			}
			continue
		}
		if !b.finish(r, scenario) {
			return context.Cause(ctx)
		}
	}
	if !b.o.wants(scenarioFleetRest) {
		return nil
	}
	if err := pause(ctx, calm); err != nil {
		return err
	}
	r := b.fleetRow(f, scenarioFleetRest)
	b.finish(r, func() error { return b.rest(ctx, r, m) })
	return context.Cause(ctx)
}

func (b *bench) fleetRow(f fleet, scenario string) *row {
	r := b.newRow(f.size*f.pods, f.kind.name(), scenario)
	r.note("%d CafeDeployments of %d units by %d pods, kept by %ss; one pod in each unit comes first, then groups of %d without confirmations",
		f.size, len(f.kind.units), f.pods/len(f.kind.units), f.kind.sets, f.kind.batch)
	return r
}

// fleetChange measures one change of all of them, and checks that it is what it claims to be.
func (b *bench) fleetChange(ctx context.Context, r *row, f fleet, m *manager, c change, tag int) error {
	before, err := b.podsWhere(ctx, "")
	if err != nil {
		return err
	}
	from, err := b.cluster.logEnd()
	if err != nil {
		return err
	}
	err = b.measured(ctx, r, b.subject(m), func(ctx context.Context) error {
		err := parallel(ctx, b.o.workers, f.size, func(ctx context.Context, i int) error {
			return b.ask(ctx, f.kind, f.key(b.namespace, i), c, f.pods, image(tag))
		})
		for i := 0; i < f.size && err == nil; i++ { // most have settled when the first one has
			err = b.await(ctx, f.kind, f.key(b.namespace, i))
		}
		return err
	})
	if err != nil {
		return err
	}
	after, err := b.podsWhere(ctx, "")
	if err != nil {
		return err
	}
	if err := check(r, c, before, after, r.Pods, image(tag)); err != nil {
		return err
	}
	if err := b.countGroups(ctx, r, f); err != nil {
		return err
	}
	return b.checkOverlap(r, append(before, after...), f.kind.batch, "batchSize", from)
}

// countGroups notes how many groups there were, and what their status and their pods cost.
func (b *bench) countGroups(ctx context.Context, r *row, f fleet) error {
	list := &cafev1alpha1.CafeDeploymentList{}
	if err := b.cluster.api.List(ctx, list, client.InNamespace(b.namespace)); err != nil {
		return fmt.Errorf("listing CafeDeployments: %w", err)
	}
	groups := 0
	for i := range list.Items {
		d := &list.Items[i]
		groups += len(d.Status.Groups)
		for _, g := range d.Status.Groups {
			if why := f.oversized(g); why != "" {
				return fmt.Errorf("CafeDeployment %s: %s", d.Name, why)
			}
		}
	}
	r.set(groupsEach, float64(groups)/float64(f.size))
	if r.Requests == nil || groups == 0 {
		return nil
	}
	r.set(statusPerGroup, float64(r.Requests[byManager]["patch cafedeployments/status"].Requests)/float64(groups))
	ofPods := 0
	for _, what := range []string{"create pods", "patch pods", "patch pods/status", "delete pods"} {
		ofPods += r.Requests[byManager][what].Requests
	}
	r.set(podsOwnWrites, float64(ofPods)/float64(r.Pods))
	return nil
}

// oversized says what is wrong with the size of a group; empty for nothing.
func (f fleet) oversized(g cafev1alpha1.ReleaseGroup) string {
	total := 0
	for _, part := range g.Units {
		total += int(part.Pods)
		if g.Kind == cafev1alpha1.BetaGroup && part.Pods > 1 {
			return fmt.Sprintf("Beta group %d takes %d pods in unit %s", g.Index, part.Pods, part.Name)
		}
	}
	if total > f.kind.batch {
		return fmt.Sprintf("group %d takes %d pods, and batchSize is %d", g.Index, total, f.kind.batch)
	}
	return ""
}
