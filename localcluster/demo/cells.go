// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cli/cafes"
	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/localcluster/nodes"
)

const (
	// perCell pods are in each cell at first, and as many make a batch.
	perCell = 3
	// hesitation is how long nobody answers, to see that nothing goes on.
	hesitation = 3 * time.Second
)

var cellNames = []string{"CellA", "CellB", "CellC"}

// cells is a release over three cells, one of which has no room later.
func cells() scenario {
	fleet := nodes.Defaults()
	fleet.Count, fleet.Cells = 9, cellNames
	return scenario{
		play:  func(ctx context.Context, s *stage) ([]string, error) { return playCells(ctx, s) },
		nodes: &fleet, local: "it fills nodes up", command: "cafe", resource: "cafedeployments.apps.cafe.cloud.alipay.com", name: freshShop().Name,
	}
}

func freshShop() *cafev1alpha1.CafeDeployment {
	return &cafev1alpha1.CafeDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: cafev1alpha1.CafeDeploymentSpec{
		Replicas: ptr.To(int32(perCell * len(cellNames))), Selector: &metav1.LabelSelector{MatchLabels: labels("shop")}, Template: template("shop"),
		Strategy: cafev1alpha1.CafeDeploymentStrategy{UpgradeType: cafev1alpha1.BetaUpgradeType, BatchSize: ptr.To[int32](perCell)},
		Topology: cafev1alpha1.Topology{Values: cellNames, AutoReschedule: cafev1alpha1.AutoReschedule{Enable: true, InitialDelaySeconds: ptr.To[int32](3)}},
	}}
}

// shop is the state of the scenario.
type shop struct {
	*stage
	watch   *cafes.Watch
	changed feed.Signal
	witness *witness
	live    *cafev1alpha1.CafeDeployment
	shown   *sets.View
	broken  []string
}

func playCells(ctx context.Context, s *stage) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the watches
	defer cancel()
	p := &shop{stage: s, changed: feed.NewSignal()}
	for _, chapter := range []func(context.Context) error{p.create, p.confirmed, p.full, p.roomAgain} {
		if err := chapter(ctx); err != nil {
			return nil, err
		}
	}
	return p.broken, nil
}

func (p *shop) promise(kept bool, format string, args ...any) {
	if !kept {
		p.broken = append(p.broken, fmt.Sprintf(format, args...))
	}
}

func (p *shop) create(ctx context.Context) (err error) {
	p.begin("A CafeDeployment of %d pods over %s: first one in each, then groups of %d", perCell*len(cellNames), strings.Join(cellNames, ", "), perCell)
	if err := reset(ctx, p.client); err != nil {
		return err
	}
	if err := p.fill(ctx, cellNames[0], false); err != nil {
		return err
	}
	if p.witness, err = newWitness(p.audit); err != nil {
		return err
	}
	p.live = freshShop()
	if err := p.client.Create(ctx, p.live); err != nil {
		return fmt.Errorf("creating CafeDeployment %s: %w", p.live.Name, err)
	}
	if p.watch, err = (cafes.Kind{}).Follow(ctx, p.client, client.ObjectKeyFromObject(p.live), p.changed, p.witness.see); err != nil {
		return err
	}
	return p.settle(ctx)
}

// confirmed releases an image in groups, each after an answer.
func (p *shop) confirmed(ctx context.Context) error {
	name := image + "1.28"
	p.begin("A new image, %s: one pod in each cell, and then each group waits for a person", name)
	r, err := p.release(ctx, func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.Template.Spec.Containers[0].Image = name
		d.Spec.Strategy.NeedWaitingForConfirm = true
	})
	if err != nil {
		return err
	}
	answers := 0
	for ; ; answers++ {
		waits, err := p.untilAsked(ctx, answers)
		if err != nil {
			return err
		}
		if !waits {
			break
		}
		found, err := p.cellsNow(ctx)
		if err != nil {
			return err
		}
		for _, c := range found {
			p.promise(c.running(name) == answers+1, "%s had %d pods of the new image before answer %d, not %d", c.name, c.running(name), answers+1, answers+1)
		}
		p.say("For %.0f seconds nobody answered, and nothing went on. The answer:", hesitation.Seconds())
		if err := p.slipway(ctx, "confirm", p.live.Name); err != nil {
			return err
		}
	}
	p.promise(answers == perCell-1, "the release asked %d times, not %d", answers, perCell-1)
	return p.judge(ctx, r, name)
}

// untilAsked follows the release until a group waits that comes after as many answers, and has waited for a while; false
// when the release is over.
func (p *shop) untilAsked(ctx context.Context, answers int) (bool, error) {
	var since time.Time
	view, err := p.follow(ctx, func(v sets.View) bool {
		s, err := p.watch.Snapshot()
		if err != nil || v.Settled() {
			return true // the next look says so
		}
		if v.Phase != sets.Paused || cafes.Next(s.Deployment) != answers+1 {
			since = time.Time{}
			return false
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) >= hesitation
	})
	return !view.Settled(), err
}

// full takes the room from one cell, and asks for one more pod in each.
func (p *shop) full(ctx context.Context) error {
	cell := cellNames[0]
	p.begin("%s gets full, and one pod more is wanted in each cell", cell)
	if err := p.fill(ctx, cell, true); err != nil {
		return err
	}
	r, err := p.release(ctx, func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.Replicas = ptr.To(int32((perCell + 1) * len(cellNames)))
		d.Spec.Strategy.NeedWaitingForConfirm = false
	})
	if err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	found, err := p.cellsNow(ctx)
	if err != nil {
		return err
	}
	total := 0
	for _, c := range found {
		total += len(c.pods)
		p.say("%s has %d pods", c.name, len(c.pods))
		if c.name == cell {
			p.promise(len(c.pods) == perCell, "%s, which is full, has %d pods, not %d", c.name, len(c.pods), perCell)
			ever := c.history.Ever(r.window, func(*corev1.Pod) bool { return true })
			p.promise(len(ever) <= perCell+1, "%d pods were tried in %s, one was to be: quota moved to and fro", len(ever)-perCell, c.name)
		}
	}
	p.promise(total == (perCell+1)*len(cellNames), "there are %d pods, not %d", total, (perCell+1)*len(cellNames))
	s, err := p.watch.Snapshot()
	if err != nil {
		return err
	}
	for _, u := range s.Deployment.Status.Units {
		if u.Name == cell {
			p.promise(u.RescheduledOut == 1, "the status says that %d pods were moved out of %s, not 1", u.RescheduledOut, cell)
		}
	}
	return nil
}

// roomAgain gives the cell its room back. A new template gives it its quota back.
func (p *shop) roomAgain(ctx context.Context) error {
	name := image + "1.29"
	p.begin("%s has room again, and %s is released: every cell gets its split back", cellNames[0], name)
	if err := p.fill(ctx, cellNames[0], false); err != nil {
		return err
	}
	if _, err := p.release(ctx, func(d *cafev1alpha1.CafeDeployment) { d.Spec.Template.Spec.Containers[0].Image = name }); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	found, err := p.cellsNow(ctx)
	if err != nil {
		return err
	}
	for _, c := range found {
		p.say("%s has %d pods, %d of them run %s", c.name, len(c.pods), c.running(name), name)
		p.promise(len(c.pods) == perCell+1 && c.running(name) == perCell+1, "%s has %d pods, %d of them on %s, not %d", c.name, len(c.pods), c.running(name), name, perCell+1)
	}
	return nil
}

// settle follows until nothing is left to do.
func (p *shop) settle(ctx context.Context) error {
	_, err := p.follow(ctx, sets.View.Settled)
	return err
}

// follow shows the deployment until enough says so of a view that is not older than the spec last written.
func (p *shop) follow(ctx context.Context, enough func(sets.View) bool) (sets.View, error) {
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	p.space()
	show := sets.Show{Terminal: p.terminal, Clock: p.clock(), Fold: sets.FoldAfter, Since: p.shown}
	view, err := show.Follow(ctx, p.watch, p.changed, func(v sets.View) bool { return v.Generation >= p.live.Generation && enough(v) })
	p.space()
	p.shown = &view
	if errors.Is(err, context.DeadlineExceeded) {
		return view, fmt.Errorf("it is not there after %s: %s", releaseTime, view.Headline)
	}
	return view, err
}

// slipway runs the program of this repository, as a person would.
func (p *shop) slipway(ctx context.Context, args ...string) error {
	args = append(args, "--namespace", namespace)
	p.say("$ slipway %s", strings.Join(args, " "))
	command := exec.CommandContext(ctx, filepath.Join(p.root, "bin", "slipway"), append(args, "--kubeconfig", p.kubeconfig)...)
	out, err := command.CombinedOutput()
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		p.say("%s", line)
	}
	if err != nil {
		return fmt.Errorf("running slipway %s: %w", args[0], err)
	}
	return nil
}

// fill makes the nodes of a cell full, or gives them their room back.
func (p *shop) fill(ctx context.Context, cell string, full bool) error {
	list := &corev1.NodeList{}
	if err := p.client.List(ctx, list, client.MatchingLabels{nodes.LabelCell: cell}); err != nil {
		return fmt.Errorf("listing the nodes of %s: %w", cell, err)
	}
	if len(list.Items) == 0 {
		return fmt.Errorf("no node is in %s", cell)
	}
	for i := range list.Items {
		n := &list.Items[i]
		before := n.DeepCopy()
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		delete(n.Annotations, nodes.AnnotationFull)
		if full {
			n.Annotations[nodes.AnnotationFull] = "true"
		}
		if err := p.client.Patch(ctx, n, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("telling node %s: %w", n.Name, err)
		}
	}
	return nil
}
