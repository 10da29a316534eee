// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/audit"
)

// cell is what is known of one cell.
type cell struct {
	name    string
	history *audit.History
	// pods are those that exist now.
	pods map[string]*corev1.Pod
}

// running is how many pods run an image.
func (c cell) running(image string) int {
	n := 0
	for _, p := range c.pods {
		if runs(p, image) {
			n++
		}
	}
	return n
}

// change is a change of the spec, and where the evidence about it begins.
type change struct {
	window audit.Window
	writes int
	begin  time.Time
}

// release changes the spec, as a person would.
func (p *shop) release(ctx context.Context, edit func(*cafev1alpha1.CafeDeployment)) (change, error) {
	if _, err := p.cellsNow(ctx); err != nil {
		return change{}, err
	}
	c := change{writes: p.witness.count(), begin: time.Now()}
	d := &cafev1alpha1.CafeDeployment{}
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(p.live), d); err != nil {
		return c, fmt.Errorf("reading CafeDeployment %s: %w", p.live.Name, err)
	}
	before := d.DeepCopy()
	edit(d)
	if err := p.client.Patch(ctx, d, client.MergeFrom(before)); err != nil {
		return c, fmt.Errorf("changing CafeDeployment %s: %w", p.live.Name, err)
	}
	p.live = d
	from, err := version(d.ResourceVersion)
	c.window = audit.Window{From: from}
	return c, err
}

// cellsNow reads all that is known of the cells up to now, in their order.
func (p *shop) cellsNow(ctx context.Context) ([]cell, error) {
	s, err := p.watch.Snapshot()
	if err != nil {
		return nil, err
	}
	var found []cell
	for _, name := range cellNames {
		for _, set := range s.Sets {
			if !metav1.IsControlledBy(set, s.Deployment) || set.GetLabels()[cafev1alpha1.LabelUnit] != name {
				continue
			}
			var known []*corev1.Pod
			for _, candidate := range s.Pods {
				if metav1.IsControlledBy(candidate, set) {
					known = append(known, candidate)
				}
			}
			history, err := p.witness.testify(ctx, set.GetUID(), known)
			if err != nil {
				return nil, err
			}
			found = append(found, cell{name: name, history: history, pods: history.At(0)})
		}
	}
	return found, nil
}

// judge looks at each cell by the measures of every release in place.
func (p *shop) judge(ctx context.Context, c change, image string) error {
	found, err := p.cellsNow(ctx)
	if err != nil {
		return err
	}
	p.promise(len(found) == len(cellNames), "%d cells have a pod set, not %d", len(found), len(cellNames))
	for _, of := range found {
		e := evidence{history: of.history, window: c.window, writes: p.witness.since(c.writes)}
		a := newAccount(e, perCell, 1, image)
		p.say("%s", of.name)
		for _, line := range a.Lines() {
			p.say("  %s", line)
		}
		for _, broken := range a.Broken(perCell) {
			p.broken = append(p.broken, of.name+": "+broken)
		}
	}
	p.say("time         %.1f seconds, with the hesitation", time.Since(c.begin).Seconds())
	return nil
}
