// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/live"
	"slipway.dev/slipway/internal/cli/tree"
)

// FoldAfter is how many pods of one revision are shown before those that are available are only counted.
const FoldAfter = 20

// Source is a set that is followed.
type Source interface {
	// View is the newest look at it. The error is ErrGone.
	View(now time.Time) (View, error)
	// Err is what keeps the source from following at the moment.
	Err() error
}

// Show says where and how a set is shown.
type Show struct {
	Terminal live.Terminal
	Clock    clock.WithTicker
	// Wide adds the pods' images.
	Wide bool
	// Fold is how many pods of one revision are shown; 0 is all.
	Fold int
	// Since is what was shown before: without a terminal only what is new since then is told. Nil tells all.
	Since *View
}

// Follow shows a set that is watched until enough, which may be nil, says so of what was just shown, and
// returns that view. Otherwise it ends with the context's error, or with ErrGone when the set is deleted.
func (s Show) Follow(ctx context.Context, w Source, changed feed.Signal, enough func(View) bool) (View, error) {
	shown := s.Since
	err := live.Show(ctx, s.Terminal, s.Clock, changed, func(now time.Time) (live.Frame, bool, error) {
		view, err := w.View(now)
		if err != nil {
			return live.Frame{}, false, err
		}
		before := shown
		shown = &view
		return s.frame(before, view, w.Err()), enough != nil && enough(view), nil
	})
	if shown == nil {
		return View{}, err
	}
	return *shown, err
}

func (s Show) frame(before *View, view View, trouble error) live.Frame {
	return live.Frame{
		Lines: func(width, height int) []string {
			doc := view.Document(s.Wide)
			if trouble != nil {
				doc.Foot = append(doc.Foot, []tree.Span{{Text: fmt.Sprintf("not up to date, trying again: %v", trouble), Tone: tree.Wrong}})
			}
			opt := s.options()
			opt.Width, opt.Height = width, height
			return tree.Render(doc, opt)
		},
		News: func() []string {
			lines := Changes(before, view)
			for i := range lines {
				lines[i] = tree.Clean(lines[i])
			}
			return lines
		},
	}
}

// Render gives the lines of one look at a set.
func (s Show) Render(view View) []string {
	opt := s.options()
	if s.Terminal.Interactive {
		opt.Width, _ = s.Terminal.Size()
	}
	return tree.Render(view.Document(s.Wide), opt)
}

func (s Show) options() tree.Options {
	return tree.Options{Fold: s.Fold, ASCII: s.Terminal.ASCII, Color: s.Terminal.Color}
}
