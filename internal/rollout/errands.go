// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/metric"
	"slipway.dev/slipway/internal/rollout/outbound"
)

// Desk has errands run beside the reconciles, and keeps what comes of them: an errand.Desk, or a simulated one.
type Desk[A any] interface {
	Begin(owner errand.Owner, e errand.Errand[A])
	Reports(owner errand.Owner) map[string]errand.Report[A]
	Keep(owner errand.Owner, keys ...string)
	Forget(name types.NamespacedName)
	// Source wakes the owner of an errand when there is news of it.
	Source() source.Source
	manager.Runnable
}

// Errands are what rollouts find out from other systems, beside the reconciles.
type Errands struct {
	Hooks   Desk[hook.Answer]
	Metrics Desk[measure.Sample]
	// Client calls the other systems.
	Client *outbound.Client
}

// answers fills in what is known by now, by key.
func (e *Errands) answers(owner errand.Owner, w *engine.World, now time.Time) {
	w.Calls, w.Samples, w.Asked = map[string]engine.Call{}, map[string]engine.Sample{}, map[string]string{}
	for key, r := range e.Hooks.Reports(owner) {
		call := engine.Call{Answered: r.State == errand.Answered, Passed: r.Answer.Passed, Attempts: r.Tries, Message: r.Said}
		if call.Answered {
			call.Message = r.Answer.Message
		}
		w.Calls[key] = call
	}
	for key, r := range e.Metrics.Reports(owner) {
		if r.State == errand.Answered {
			w.Samples[key] = engine.Sample{Sample: r.Answer, At: now}
		} else {
			w.Asked[key] = r.Said
		}
	}
}

// call has a webhook called.
func (e *Errands) call(rollout *engine.Rollout, a engine.Invoke) {
	e.Hooks.Begin(owner(rollout), hook.Errand(e.Client, hook.Call{Key: a.Key, Webhook: a.Hook, Namespace: rollout.Namespace, Name: rollout.Name, Phase: a.Phase}))
}

// sample has a metric measured. What is wrong with the metric itself is the answer: somebody has to look.
func (r *Reconciler) sample(ctx context.Context, seen *observed, a engine.Measure) error {
	e, rollout := &r.Errands, &seen.world.Rollout
	question, wrong, err := r.ask(ctx, seen, a)
	if err != nil {
		return err
	}
	if wrong != "" {
		e.Metrics.Begin(owner(rollout), errand.Errand[measure.Sample]{Key: a.Key, Version: wrong, Try: func(context.Context) errand.Attempt[measure.Sample] {
			return errand.Done(measure.Sample{Kind: measure.Fault, Message: wrong})
		}})
		return nil
	}
	e.Metrics.Begin(owner(rollout), metric.Errand(e.Client, question))
	return nil
}

// ask is the question that a metric asks; or what is wrong with it.
func (r *Reconciler) ask(ctx context.Context, seen *observed, a engine.Measure) (q metric.Question, wrong string, err error) {
	rollout, live := &seen.world.Rollout, r.Live
	template := &rolloutv1alpha1.MetricTemplate{}
	key := client.ObjectKey{Namespace: a.Metric.TemplateRef.Namespace, Name: a.Metric.TemplateRef.Name}
	if key.Namespace == "" {
		key.Namespace = rollout.Namespace
	}
	switch err := live.Get(ctx, key, template); {
	case apierrors.IsNotFound(err):
		return q, fmt.Sprintf("there is no MetricTemplate %s", key), nil
	case err != nil:
		return q, "", fmt.Errorf("reading MetricTemplate %s: %w", key, err)
	}
	q = metric.Question{Key: a.Key, Provider: template.Spec.Provider}
	target, _ := rollout.Looks()
	newer := rollout.Status.NewPodTemplateIdentifier
	if strings.Contains(template.Spec.Query, ".TargetRevision") { // else it is not worth the reading
		carried, err := r.Kinds.RevisionLabel(ctx, seen.by[engine.Target])
		if err != nil {
			return q, "", fmt.Errorf("finding out what new pods carry: %w", err)
		}
		newer = cmp.Or(carried, newer)
	}
	q.Query, err = measure.Render(template, measure.Fields{
		Namespace: rollout.Namespace, Name: rollout.Name, Target: target.Name, TargetRevision: newer,
		Batch: int32(a.Batch), Interval: measure.Interval(&a.Metric),
	})
	if err != nil {
		return q, err.Error(), nil //nolint:nilerr // it is the answer: somebody has to look
	}
	if ref := q.Provider.SecretRef; ref != nil {
		if q.Credentials, wrong, err = credentials(ctx, live, client.ObjectKey{Namespace: key.Namespace, Name: ref.Name}); err != nil || wrong != "" {
			return q, wrong, err
		}
	}
	return q, "", nil
}

func credentials(ctx context.Context, live client.Reader, key client.ObjectKey) (c outbound.Credentials, wrong string, err error) {
	secret := &corev1.Secret{}
	switch err := live.Get(ctx, key, secret); {
	case apierrors.IsNotFound(err):
		return c, fmt.Sprintf("there is no Secret %s", key), nil
	case apierrors.IsForbidden(err):
		return c, fmt.Sprintf("Slipway may not read Secret %s: give it the right in a Role of that namespace", key), nil
	case err != nil:
		return c, "", fmt.Errorf("reading Secret %s: %w", key, err)
	}
	if c, err = metric.CredentialsOf(secret.Data); err != nil {
		return c, fmt.Sprintf("Secret %s: %s", key, err), nil
	}
	return c, "", nil
}

// owner is the rollout as the one whose errands are run.
func owner(rollout *engine.Rollout) errand.Owner {
	return errand.Owner{NamespacedName: types.NamespacedName{Namespace: rollout.Namespace, Name: rollout.Name}, UID: rollout.UID}
}

// keep forgets all errands but those that are wanted.
func (e *Errands) keep(owner errand.Owner, keys []string) {
	e.Hooks.Keep(owner, keys...)
	e.Metrics.Keep(owner, keys...)
}

// forget forgets all errands of a rollout that is gone.
func (e *Errands) forget(name types.NamespacedName) {
	e.Hooks.Forget(name)
	e.Metrics.Forget(name)
}
