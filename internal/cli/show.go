// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/live"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
)

var errTimeout = errors.New("the timeout passed")

// printObjects prints the sets themselves, with every field that the API server knows.
func (g *getSets) printObjects(ctx context.Context) error {
	printer, err := g.print.ToPrinter()
	if err != nil {
		return err
	}
	if g.name != "" {
		set := &unstructured.Unstructured{}
		set.SetGroupVersionKind(g.kind.GroupVersionKind())
		if err := g.client.Get(ctx, g.key(), set); err != nil {
			return err
		}
		return printer.PrintObj(set, g.env.Streams.Out)
	}
	all := &unstructured.UnstructuredList{}
	err = g.kind.eachKind(func(kind shown) error {
		list, id := &unstructured.UnstructuredList{}, kind.GroupVersionKind()
		list.SetGroupVersionKind(id.GroupVersion().WithKind(id.Kind + "List"))
		if err := g.client.List(ctx, list, client.InNamespace(g.namespace), client.MatchingLabelsSelector{Selector: g.labels}); err != nil {
			return err
		}
		if all.Items = append(all.Items, list.Items...); all.Object == nil {
			all.Object = list.Object
			return nil
		}
		all.Object = map[string]any{"apiVersion": "v1", "kind": "List"}
		return nil
	})
	if err != nil {
		return err
	}
	return printer.PrintObj(all, g.env.Streams.Out)
}

func (g *getSets) show() sets.Show {
	s := sets.Show{Terminal: g.env.terminal(g.ascii), Clock: g.env.Clock, Wide: g.wide, Fold: sets.FoldAfter}
	if g.showAll {
		s.Fold = 0
	}
	return s
}

func (g *getSets) showOne(ctx context.Context) error {
	view, err := g.kind.Look(ctx, g.client, g.key(), g.env.Clock.Now())
	if err != nil {
		return err
	}
	return writeLines(g.env.Streams.Out, g.show().Render(view))
}

func (g *getSets) followOne(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx) // the watches end with this call
	defer stop(nil)
	changed := feed.NewSignal()
	watch, err := g.kind.Watch(ctx, g.client, g.key(), changed)
	if err != nil {
		return err
	}
	var enough func(sets.View) bool
	if g.untilSettled {
		enough = sets.View.Settled
	}
	defer g.stopAfter(ctx, g.timeout, stop)()
	view, err := g.show().Follow(ctx, watch, changed, enough)
	return g.ended(view, err, context.Cause(ctx))
}

// stopAfter stops a watch with errTimeout when the time has passed; 0 never does. What it returns lets go of the timer.
func (g *getSets) stopAfter(ctx context.Context, timeout time.Duration, stop context.CancelCauseFunc) func() {
	if timeout <= 0 {
		return func() {}
	}
	timer := g.env.Clock.NewTimer(timeout)
	go func() {
		select {
		case <-timer.C():
			stop(errTimeout)
		case <-ctx.Done():
		}
	}()
	return func() { timer.Stop() }
}

// ended turns how a watch ended into how the command ends.
func (g *getSets) ended(view sets.View, err, cause error) error {
	switch {
	case err == nil, !errors.Is(err, context.Canceled):
		return err
	case errors.Is(cause, errTimeout):
		return fmt.Errorf("%s %s is not settled after %s: %s", g.kind.Name(), g.key(), g.timeout, view.Headline)
	case g.untilSettled:
		return fmt.Errorf("interrupted before %s %s was settled: %s", g.kind.Name(), g.key(), view.Headline)
	default:
		return nil // ctrl-c is how a watch ends
	}
}

func (g *getSets) showTable(ctx context.Context) error {
	list, err := g.list(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(g.env.Streams.ErrOut, g.nothing())
		return err
	}
	terminal := g.env.terminal(g.ascii)
	width, _ := terminal.Size()
	return writeLines(g.env.Streams.Out, g.table(list, terminal, width))
}

func (g *getSets) nothing() string {
	switch {
	case g.selector != "" && g.all:
		return fmt.Sprintf("No %ss match %s.", g.kind.Name(), g.selector)
	case g.all:
		return fmt.Sprintf("No %ss in this cluster.", g.kind.Name())
	case g.selector != "":
		return fmt.Sprintf("No %ss in namespace %q match %s.", g.kind.Name(), g.namespace, g.selector)
	default:
		return fmt.Sprintf("No %ss in namespace %q; -A looks in all namespaces.", g.kind.Name(), g.namespace)
	}
}

func (g *getSets) table(views []sets.View, terminal live.Terminal, width int) []string {
	columns, rows := g.kind.Table(views, g.all, g.wide)
	return tree.Table(columns, rows, tree.Options{Width: width, ASCII: terminal.ASCII, Color: terminal.Color})
}

func (g *getSets) followTable(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := feed.NewSignal()
	look, trouble, err := g.kind.WatchAll(ctx, g.client, feed.Options{Namespace: g.namespace, LabelSelector: g.labels}, changed)
	if err != nil {
		return err
	}
	terminal := g.env.terminal(g.ascii)
	told := map[string]string{}
	err = live.Show(ctx, terminal, g.env.Clock, changed, func(now time.Time) (live.Frame, bool, error) {
		views := look(now)
		return live.Frame{
			Lines: func(width, height int) []string {
				lines := g.table(views, terminal, width)
				if len(views) == 0 {
					lines = []string{g.nothing()}
				}
				if err := trouble(); err != nil {
					lines = append(lines, "not up to date, trying again: "+tree.Clean(err.Error()))
				}
				return clip(lines, width, height)
			},
			News: func() []string { return sets.News(told, views) },
		}, false, nil
	})
	return g.ended(sets.View{}, err, context.Cause(ctx))
}

// clip keeps what fits the terminal; a table's best part is its beginning.
func clip(lines []string, width, height int) []string {
	if height > 0 && len(lines) > height {
		lines = append(lines[:height-1:height-1], fmt.Sprintf("%d more; use -n or -l to see fewer", len(lines)-height+1))
	}
	if width > 0 && len(lines) > 0 {
		last := len(lines) - 1
		lines[last] = tree.Cut(lines[last], width, "")
	}
	return lines
}

func writeLines(out io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
