// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/rollouts"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
)

// traitKind is the kind RolloutTrait.
func traitKind() shownKind {
	return shownKind{shown: rollouts.Kind(), command: "rollouttrait", plural: "rollouttraits", short: []string{"rt"},
		pause: []string{"rolloutPlan", "paused"}, shows: "batches", each: "every batch"}
}

// appRolloutKind is the kind AppRollout.
func appRolloutKind() shownKind {
	return shownKind{shown: rollouts.AppKind(), command: rollouts.AppRolloutWord, plural: "approllouts",
		pause: []string{"rolloutPlan", "paused"}, shows: "batches", each: "every batch"}
}

// rolloutKind is whichever kind of rollout has the name.
func rolloutKind() shownKind {
	kind := traitKind()
	kind.shown, kind.command, kind.plural, kind.short = anyRollout{}, "rollout", "rollouts", nil
	return kind
}

// rolloutKinds are the kinds that can stand in front of the name of a rollout. That of an application is the one that it writes.
func rolloutKinds() []shownKind {
	ofApplication := appRolloutKind()
	ofApplication.command, ofApplication.plural, ofApplication.short = appKind().command, appKind().plural, appKind().short
	ofApplication.ofApplication = true
	return []shownKind{traitKind(), appRolloutKind(), ofApplication}
}

// readRollout reads NAME or KIND/NAME of a rollout.
func (g *getSets) readRollout(arg string) (err error) {
	g.kind, g.name, err = target(rolloutKinds(), rolloutKind(), []string{arg})
	return err
}

// resolve finds out which kind of rollout has the name, when none was given. Of other kinds it leaves all as it is.
func (g *getSets) resolve(ctx context.Context) error {
	switch {
	case g.kind.ofApplication:
		return g.written(ctx)
	case !g.kind.isEither():
		return nil
	}
	var found []shownKind
	var failures []error
	for _, kind := range []shownKind{traitKind(), appRolloutKind()} {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(kind.GroupVersionKind())
		switch err := g.client.Get(ctx, g.key(), object); {
		case err == nil:
			found = append(found, kind)
		default:
			failures = append(failures, err)
		}
	}
	switch len(found) {
	case 1:
		g.kind = found[0]
		return nil
	case 0:
		for _, err := range failures {
			if !apierrors.IsNotFound(err) {
				return err
			}
		}
		return failures[0]
	}
	return fmt.Errorf("a RolloutTrait and an AppRollout are called %s in namespace %s: write %[3]s/%[1]s or %[4]s/%[1]s", g.name, g.namespace, found[0].command, found[1].command)
}

// rollout reads a rollout of which it is known which kind it is.
func (g *getSets) rollout(ctx context.Context) (*rollouts.Rollout, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(g.kind.GroupVersionKind())
	if err := g.client.Get(ctx, g.key(), o); err != nil {
		return nil, err
	}
	return rollouts.Read(o)
}

// written looks whether the AppRollout of the name is the one that the application of the name has written.
func (g *getSets) written(ctx context.Context) error {
	r := &oamv1beta1.AppRollout{}
	switch err := g.client.Get(ctx, g.key(), r); {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("Application %s has no rollout: it writes an AppRollout of its own name when there is something to roll out by its rolloutPlan", g.key()) //nolint:staticcheck // the kind
	case err != nil:
		return err
	}
	if rollouts.OfRevisions(r).Application != g.name {
		return fmt.Errorf("AppRollout %s is not written by Application %s: name it as %s/%s", g.key(), g.name, rollouts.AppRolloutWord, g.name)
	}
	return nil
}

var errUnresolved = errors.New("which kind of rollout it is was not looked up")

// anyRollout are RolloutTraits and AppRollouts together. AppRollouts have their kind in front of their name.
type anyRollout struct{}

// both are the kinds.
func (anyRollout) both() []shown { return []shown{rollouts.Kind(), rollouts.AppKind()} }

func (anyRollout) Name() string { return "rollout" }

func (anyRollout) GroupVersionKind() schema.GroupVersionKind { return rollouts.Kind().GVK }

func (anyRollout) Reads() []string { return []string{appRolloutKind().resource()} }

// Look is for one whose kind is known: see resolve.
func (anyRollout) Look(context.Context, client.Reader, types.NamespacedName, time.Time) (sets.View, error) {
	return sets.View{}, errUnresolved
}

// Watch is as Look.
func (anyRollout) Watch(context.Context, client.WithWatch, types.NamespacedName, feed.Signal) (sets.Source, error) {
	return nil, errUnresolved
}

func (k anyRollout) List(ctx context.Context, c client.Reader, now time.Time, options ...client.ListOption) ([]sets.View, error) {
	var all []sets.View
	err := k.each(func(kind shown) error {
		views, err := kind.List(ctx, c, now, options...)
		all = append(all, typed(views)...)
		return err
	})
	return all, err
}

// each does something for both kinds. A cluster may have one of them.
func (k anyRollout) each(do func(shown) error) error {
	var missing []error
	for _, kind := range k.both() {
		switch err := do(kind); {
		case apierrors.IsNotFound(err):
			missing = append(missing, err)
		case err != nil:
			return err
		}
	}
	if len(missing) == len(k.both()) {
		return missing[0]
	}
	return nil
}

// typed names each rollout as people type it.
func typed(views []sets.View) []sets.View {
	for i := range views {
		if v := &views[i]; v.Kind == oamv1beta1.AppRolloutKind {
			v.Name = rollouts.AppRolloutWord + "/" + v.Name
			v.Cells[0].Text = v.Name
		}
	}
	return views
}

func (anyRollout) Table(views []sets.View, namespaces, wide bool) ([]tree.Column, []tree.Node) {
	return rollouts.Kind().Table(views, namespaces, wide)
}

func (k anyRollout) WatchAll(
	ctx context.Context, c client.WithWatch, options feed.Options, changed feed.Signal,
) (func(time.Time) []sets.View, func() error, error) {
	var looks []func(time.Time) []sets.View
	var troubles []func() error
	err := k.each(func(kind shown) error {
		look, trouble, err := kind.WatchAll(ctx, c, options, changed)
		if err == nil {
			looks, troubles = append(looks, look), append(troubles, trouble)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	look := func(now time.Time) (all []sets.View) {
		for _, one := range looks {
			all = append(all, typed(one(now))...)
		}
		return all
	}
	return look, func() (err error) {
		for _, one := range troubles {
			err = cmp.Or(err, one())
		}
		return err
	}, nil
}

// eachKind does something for the kinds that a kind stands for, which is mostly itself.
func (k shownKind) eachKind(do func(shown) error) error {
	if either, is := k.shown.(anyRollout); is {
		return either.each(do)
	}
	return do(k.shown)
}

// isEither tells whether it is not known yet which kind of rollout is meant.
func (k shownKind) isEither() bool {
	_, is := k.shown.(anyRollout)
	return is
}

// aliases are the further names of its command.
func (k shownKind) aliases() []string {
	if k.isEither() {
		return []string{k.plural}
	}
	return append([]string{k.plural, k.resource()}, k.short...)
}

// isRollout tells whether it is a kind of rollouts.
func (k shownKind) isRollout() bool {
	return k.isEither() || k.Name() == traitKind().Name() || k.Name() == oamv1beta1.AppRolloutKind
}
