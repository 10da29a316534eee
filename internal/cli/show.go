// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cli/clonesets"
	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/live"
	"slipway.dev/slipway/internal/cli/tree"
)

var errTimeout = errors.New("the timeout passed")

// printObjects prints the sets themselves, with every field that the API server knows.
func (g *getCloneSet) printObjects(ctx context.Context) error {
	printer, err := g.print.ToPrinter()
	if err != nil {
		return err
	}
	kind := kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind)
	var found runtime.Object
	if g.name != "" {
		set := &unstructured.Unstructured{}
		set.SetGroupVersionKind(kind)
		err, found = g.client.Get(ctx, g.key(), set), set
	} else {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err, found = g.client.List(ctx, list, client.InNamespace(g.namespace), client.MatchingLabelsSelector{Selector: g.labels}), list
	}
	if err != nil {
		return err
	}
	return printer.PrintObj(found, g.env.Streams.Out)
}

func (g *getCloneSet) show() clonesets.Show {
	s := clonesets.Show{Terminal: g.env.terminal(g.ascii), Clock: g.env.Clock, Wide: g.wide, Fold: clonesets.FoldAfter}
	if g.showAll {
		s.Fold = 0
	}
	return s
}

func (g *getCloneSet) showOne(ctx context.Context) error {
	snapshot, err := clonesets.Read(ctx, g.client, g.key())
	if err != nil {
		return err
	}
	return writeLines(g.env.Streams.Out, g.show().Render(clonesets.NewView(snapshot, g.env.Clock.Now())))
}

func (g *getCloneSet) followOne(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx) // the watches end with this call
	defer stop(nil)
	changed := feed.NewSignal()
	watch, err := clonesets.Follow(ctx, g.client, g.key(), changed, nil)
	if err != nil {
		return err
	}
	var enough func(clonesets.View) bool
	if g.untilSettled {
		enough = clonesets.View.Settled
	}
	if g.timeout > 0 {
		timer := g.env.Clock.NewTimer(g.timeout)
		defer timer.Stop()
		go func() {
			select {
			case <-timer.C():
				stop(errTimeout)
			case <-ctx.Done():
			}
		}()
	}
	view, err := g.show().Follow(ctx, watch, changed, enough)
	return g.ended(view, err, context.Cause(ctx))
}

// ended turns how a watch ended into how the command ends.
func (g *getCloneSet) ended(view clonesets.View, err, cause error) error {
	switch {
	case err == nil, !errors.Is(err, context.Canceled):
		return err
	case errors.Is(cause, errTimeout):
		return fmt.Errorf("CloneSet %s is not settled after %s: %s", g.key(), g.timeout, view.Headline)
	case g.untilSettled:
		return fmt.Errorf("interrupted before CloneSet %s was settled: %s", g.key(), view.Headline)
	default:
		return nil // ctrl-c is how a watch ends
	}
}

func (g *getCloneSet) showTable(ctx context.Context) error {
	list, err := g.list(ctx)
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		_, err := fmt.Fprintln(g.env.Streams.ErrOut, g.nothing())
		return err
	}
	sets := make([]*kruisev1alpha1.CloneSet, 0, len(list.Items))
	for i := range list.Items {
		sets = append(sets, &list.Items[i])
	}
	terminal := g.env.terminal(g.ascii)
	width, _ := terminal.Size()
	return writeLines(g.env.Streams.Out, g.table(sets, terminal, width, g.env.Clock.Now()))
}

func (g *getCloneSet) nothing() string {
	switch {
	case g.selector != "" && g.all:
		return fmt.Sprintf("No CloneSets match %s.", g.selector)
	case g.all:
		return "No CloneSets in this cluster."
	case g.selector != "":
		return fmt.Sprintf("No CloneSets in namespace %q match %s.", g.namespace, g.selector)
	default:
		return fmt.Sprintf("No CloneSets in namespace %q; -A looks in all namespaces.", g.namespace)
	}
}

func (g *getCloneSet) table(sets []*kruisev1alpha1.CloneSet, terminal live.Terminal, width int, now time.Time) []string {
	columns, rows := clonesets.Table(sets, g.all, g.wide, now)
	return tree.Table(columns, rows, tree.Options{Width: width, ASCII: terminal.ASCII, Color: terminal.Color})
}

func (g *getCloneSet) followTable(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := feed.NewSignal()
	sets, err := feed.Start(ctx, g.client, &kruisev1alpha1.CloneSet{}, func() client.ObjectList { return &kruisev1alpha1.CloneSetList{} },
		feed.Options{Namespace: g.namespace, LabelSelector: g.labels}, changed)
	if err != nil {
		return err
	}
	terminal := g.env.terminal(g.ascii)
	told := map[string]string{}
	err = live.Show(ctx, terminal, g.env.Clock, changed, func(now time.Time) (live.Frame, bool, error) {
		items := sets.Items()
		return live.Frame{
			Lines: func(width, height int) []string {
				lines := g.table(items, terminal, width, now)
				if len(items) == 0 {
					lines = []string{g.nothing()}
				}
				if sets.Err() != nil {
					lines = append(lines, "not up to date, trying again: "+tree.Clean(sets.Err().Error()))
				}
				return clip(lines, width, height)
			},
			News: func() []string { return clonesets.News(told, items, now) },
		}, false, nil
	})
	return g.ended(clonesets.View{}, err, context.Cause(ctx))
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
