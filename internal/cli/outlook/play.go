// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/rollouts"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/subject"
)

// Input is what an outlook is made from.
type Input struct {
	// Live reads what there is.
	Live client.Reader
	// Mapper tells of kinds how their CustomResourceDefinition is called.
	Mapper apimeta.RESTMapper
	// Before is the rollout as it is; nil when there is none. Rollout is the one that is asked for, a RolloutTrait or an AppRollout, with
	// the identity and the status of that one.
	Before, Rollout client.Object
	// Wanted are the workloads as they are asked for at the same time; nil for as they are.
	Wanted Wanted
	// NodeLabels are the labels of nodes by node name. They are needed only for topology spread constraints.
	NodeLabels map[string]map[string]string
	// ResizeOff: the server cannot change the resources of living pods.
	ResizeOff bool
}

// passes bounds a story: so many looks, and some more for each batch and for each pod that waits for an interval.
const passes = 2000

// Of foretells what becomes of a rollout from the given time on. It always ends.
func Of(ctx context.Context, in Input, now time.Time) (*Outlook, error) {
	p, err := newPlay(in, now)
	if err != nil {
		return nil, err
	}
	if err := p.begin(); err != nil {
		return nil, err
	}
	if err := p.tell(ctx); err != nil {
		return nil, err
	}
	return &p.story, nil
}

func newPlay(in Input, now time.Time) (*play, error) {
	registry, err := adapter.NewRegistry()
	if err != nil {
		return nil, fmt.Errorf("preparing the kinds of workloads: %w", err)
	}
	if in.Wanted == nil {
		in.Wanted = asTheyAre
	}
	given, err := asking(in.Rollout)
	if err != nil {
		return nil, err
	}
	asks, err := asking(in.Rollout.DeepCopyObject().(client.Object))
	if err != nil {
		return nil, err
	}
	p := &play{
		Input: in, store: &store{live: in.Live, wanted: in.Wanted, workloads: map[place]*workload{}}, given: given, asks: asks, now: now,
		calls: map[string]engine.Call{}, samples: map[string]engine.Sample{}, failing: map[string]string{},
	}
	p.adapters = adapter.Adapters{Live: p.store, Mapper: in.Mapper, Registry: registry}
	p.kind = p.kindOf()
	return p, nil
}

// play is an outlook while it is told.
type play struct {
	Input
	*store
	adapters adapter.Adapters
	kind     subject.Kind
	now      time.Time
	// given is the rollout as it is asked for, and asks as it has become.
	given, asks asker
	// calls and samples are what webhooks and metrics have answered.
	calls   map[string]engine.Call
	samples map[string]engine.Sample
	story   Outlook

	// subject is what the rollout asks for, seen are the workloads as the last look saw them, and world is what that made of them.
	subject subject.Subject
	seen    map[engine.Side]adapter.Seen
	world   engine.World
	// target and source are the workloads of the last look that knew any.
	target rolloutv1alpha1.WorkloadReference
	source *rolloutv1alpha1.WorkloadReference
	// serial numbers pods that are made.
	serial int
	// waited is time that had to pass since the last moment. order numbers what happens to pods.
	waited time.Duration
	order  int
	// person: nothing goes on from here unless a person lets it.
	person bool
	// run is the run that is told of.
	run int64
	// first is the batch that was under way at the beginning; -1 for none.
	first int
	// counted: the pods were counted at the beginning.
	counted bool
	// failing are images that do not start now, each with the reason.
	failing map[string]string
	// holds: a workload was held, now or before. brought: objects were applied.
	holds, brought bool
}

func (p *play) begin() error {
	r, o, id := &p.asks, &p.story, p.kind.ID()
	o.APIVersion, o.Kind = id.GroupVersion().String(), id.Kind
	o.Namespace, o.Name = r.GetNamespace(), r.GetName()
	o.New = p.Before == nil
	o.Batches = []Batch{}
	if r.GetUID() == "" {
		r.SetUID(plannedUID(id, r.GetName()))
	}
	p.first, p.run = -1, r.status.Run
	if p.Before == nil {
		r.SetGeneration(1)
		return nil
	}
	before, err := asking(p.Before)
	if err != nil {
		return err
	}
	if o.Changed = !equality.Semantic.DeepEqual(before.spec, r.spec); o.Changed {
		r.SetGeneration(before.GetGeneration() + 1)
	}
	if state := engine.StateOf(r.status); state != engine.None {
		o.From = state.String()
		if state.Rolling == rolloutv1alpha1.RollingInBatchesState {
			o.From += fmt.Sprintf(" of batch %d", r.status.CurrentBatch+1)
			p.first = int(r.status.CurrentBatch)
		}
		p.holds = r.status.Running != nil && !state.Rolling.IsFinal()
	}
	return nil
}

// tell has the engine look, does what it asks for, and lets the workloads follow, until nothing goes on.
func (p *play) tell(ctx context.Context) error {
	limit := passes
	for done := 0; done < limit; done++ {
		if err := p.look(ctx); err != nil {
			return err
		}
		switch brought, err := p.bring(ctx); {
		case err != nil:
			return err
		case brought:
			p.story.acts = p.story.acts || !p.person
			if _, err := p.follow(ctx); err != nil {
				return err
			}
			continue
		}
		before, told := engine.StateOf(p.asks.status), p.order
		next := engine.Next(p.world, p.now)
		if next.Status.Running != nil {
			limit = passes + 50*len(next.Status.Running.RolloutBatches) + 5*int(next.Status.Running.Total)
		}
		p.note(&next)
		acted, err := p.act(ctx, &next)
		if err != nil {
			return err
		}
		if p.gone() {
			return p.end(ctx, Gone)
		}
		moved, err := p.follow(ctx)
		if err != nil {
			return err
		}
		state := engine.StateOf(&next.Status)
		changed := acted || moved || state != before
		p.story.acts = p.story.acts || !p.person && (acted || state != before || p.order > told)
		switch wait := p.wait(&next); {
		case changed || next.LookAgain == time.Millisecond:
		case state.Rolling.IsFinal():
			return p.end(ctx, p.outcome(state))
		case p.letOn(&next):
		case next.Status.WaitingFor == rolloutv1alpha1.WaitingForWorkload || wait == 0:
			return p.end(ctx, Waits)
		default:
			p.pass(wait)
		}
	}
	p.story.Assumed = append(p.story.Assumed, fmt.Sprintf("the story is told for %d looks of the controller only: it is too long", limit))
	return p.end(ctx, Waits)
}

// look observes the workloads as the controller does.
func (p *play) look(ctx context.Context) error {
	var err error
	if p.subject, err = p.kind.Subject(ctx, p.asks.Object); err != nil {
		return err //nolint:wrapcheck // it says what was read
	}
	if p.refused != nil { // a controller would tell people that it lacks a right; here they lack it themselves
		return p.refused
	}
	p.world, p.seen = engine.World{Rollout: p.subject.Rollout, Blocked: p.subject.Missing, Calls: p.calls, Samples: p.samples}, map[engine.Side]adapter.Seen{}
	target, source := p.world.Rollout.Looks()
	if p.asks.status.RollingState.IsFinal() || target.Name == "" {
		return nil
	}
	p.target, p.source = target, source
	if err := p.observe(ctx, engine.Target, target); err != nil {
		return err
	}
	p.world.Target = p.seen[engine.Target].Workload
	if source != nil {
		if err := p.observe(ctx, engine.Source, *source); err != nil {
			return err
		}
		w := p.seen[engine.Source].Workload
		p.world.Source = &w
	}
	if !p.counted {
		p.counted = true
		p.story.Start = p.count()
		p.story.Least = p.story.Start.Available
	}
	return nil
}

func (p *play) observe(ctx context.Context, side engine.Side, ref rolloutv1alpha1.WorkloadReference) error {
	seen, err := p.adapters.Observe(ctx, p.asks.GetNamespace(), ref, p.holder(), adapter.AskOf(&p.world.Rollout), p.now)
	if err != nil {
		return err //nolint:wrapcheck // it names the workload
	}
	if w := p.workloads[p.at(ref)]; w != nil && w.tally != nil && seen.Workload.Found {
		w.tally.overlay(&seen.Workload, w.version == w.followed)
	}
	p.seen[side] = seen
	return nil
}

// holder is the rollout as the one that holds workloads.
func (p *play) holder() adapter.Holder {
	return adapter.Holder{Kind: p.kind.ID(), Name: p.asks.GetName(), UID: p.asks.GetUID(), Own: p.subject.Own}
}

func (p *play) at(ref rolloutv1alpha1.WorkloadReference) place {
	return place{schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), client.ObjectKey{Namespace: p.asks.GetNamespace(), Name: ref.Name}}
}

// wait is how long nothing happens but for the time; 0 for ever.
func (p *play) wait(next *engine.Plan) time.Duration {
	wait := next.LookAgain
	for _, s := range p.seen {
		if s.LookAgain > 0 && (wait == 0 || s.LookAgain < wait) {
			wait = s.LookAgain
		}
	}
	return wait
}

// pass lets time pass.
func (p *play) pass(wait time.Duration) {
	wait = (wait + time.Second - 1).Truncate(time.Second)
	p.now = p.now.Add(wait)
	p.waited += wait
}

// letOn has a person let the rollout go on where it waits for one.
func (p *play) letOn(next *engine.Plan) bool {
	plan, s := p.asks.plan, &next.Status
	switch {
	case s.WaitingFor == rolloutv1alpha1.WaitingForUnpause:
		plan.Paused = false
	case s.WaitingFor == rolloutv1alpha1.WaitingAtPartition && plan.BatchPartition != nil:
		plan.BatchPartition = nil
	default:
		return false
	}
	p.person = true
	return true
}

func (p *play) gone() bool {
	return p.asks.GetDeletionTimestamp() != nil && !slices.Contains(p.asks.GetFinalizers(), rolloutv1alpha1.FinalizerRollout)
}

func (p *play) outcome(state engine.State) Ending {
	switch {
	case state == engine.Succeeded:
		return Succeeds
	case !p.holds && !p.brought && (p.story.New || p.story.acts || p.story.Changed):
		return Refused
	}
	return Fails
}

// end says how it ends.
func (p *play) end(ctx context.Context, how Ending) error {
	o, s := &p.story, p.asks.status
	o.Ending, o.State, o.Message = how, engine.StateOf(s).String(), s.Message
	if how == Gone {
		o.State, o.Message = "", "the rollout goes, as it is being deleted"
	}
	if o.Change == "" {
		o.Change, o.Plan = rollouts.Change(p.asks.shown()), rollouts.Plan(p.asGiven())
	}
	if how == Succeeds {
		o.Left = nil
	}
	if o.Before.updates() {
		o.Warn(fmt.Sprintf("nothing holds the pods of %s: they go to its newest template before the rollout takes them; pause it first, or give it a full partition",
			rollouts.Ref(p.target)))
	}
	if p.counted {
		if err := p.recount(ctx); err != nil {
			return err
		}
		o.End = p.count()
	}
	return nil
}

// asGiven is the rollout as people see it, with the plan that was given: on the way they are taken to let it go on.
func (p *play) asGiven() *rollouts.Rollout {
	shown := p.asks.shown()
	shown.Plan, shown.RevertOnDelete = *p.given.plan, p.given.shown().RevertOnDelete
	return shown
}

// recount looks at the workloads once more: in a final state the rollout itself does not.
func (p *play) recount(ctx context.Context) error {
	if err := p.observe(ctx, engine.Target, p.target); err != nil || p.source == nil {
		return err
	}
	return p.observe(ctx, engine.Source, *p.source)
}
