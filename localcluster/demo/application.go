// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// The components of the scenario's application: a CloneSet that takes images in place, and a Deployment with an autoscaler.
const (
	shopName     = "shop"
	setComponent = "api"
	webComponent = "web"
	// mostWebs is the upper bound of the autoscaler; the lower one is rolledPods.
	mostWebs = 9
)

// app is the state of the scenario.
type app struct {
	*stage
	witness *witness
	live    *oamv1beta1.Application
	// from is the version of the cluster with the first release.
	from   uint64
	broken []string
}

// applications rolls an application out, edits it in the middle, and goes back in the middle.
func applications() scenario {
	return scenario{
		play: playApplication, command: "app", resource: "applications.core.oam.dev", name: shopName, at: "/spec/components/0/properties/image",
		local: "it is judged by the audit log",
	}
}

func playApplication(ctx context.Context, s *stage) ([]string, error) {
	p := &app{stage: s}
	for _, chapter := range []func(context.Context) error{p.create, p.begun, p.overtaken, p.back, p.free} {
		if err := chapter(ctx); err != nil {
			return nil, err
		}
	}
	return p.broken, nil
}

// freshApplication has both components run one image, and waits after the first batch.
func freshApplication(image string) *oamv1beta1.Application {
	component := func(name, kind string, more map[string]any, trait string, properties map[string]any) oamv1beta1.ApplicationComponent {
		more["image"], more["labels"] = image, labels(name)
		return oamv1beta1.ApplicationComponent{
			Name: name, Type: kind, Properties: raw(more), Traits: []oamv1beta1.ApplicationTrait{{Type: trait, Properties: raw(properties)}},
		}
	}
	return &oamv1beta1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shopName},
		Spec: oamv1beta1.ApplicationSpec{
			Components: []oamv1beta1.ApplicationComponent{
				component(setComponent, "cloneset", map[string]any{"maxUnavailable": perBatch}, "scaler", map[string]any{"replicas": rolledPods}),
				component(webComponent, "webservice", map[string]any{"cpu": "100m"}, "hpa", map[string]any{"min": rolledPods, "max": mostWebs}),
			},
			RolloutPlan: &rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](rolledPods / perBatch)},
		},
	}
}

func raw(properties map[string]any) *runtime.RawExtension {
	text, err := json.Marshal(properties)
	if err != nil {
		panic(err) // strings, numbers and maps of them
	}
	return &runtime.RawExtension{Raw: text}
}

// withImage changes the image of a component.
func withImage(a *oamv1beta1.Application, component, image string) {
	for i, fresh := range freshApplication(image).Spec.Components {
		if fresh.Name == component {
			a.Spec.Components[i].Properties = fresh.Properties
		}
	}
}

func (p *app) promise(kept bool, format string, args ...any) {
	if !kept {
		p.broken = append(p.broken, fmt.Sprintf(format, args...))
	}
}

func (p *app) create(ctx context.Context) (err error) {
	p.begin("An Application %s: a CloneSet %s of %d pods, and a Deployment %s with an autoscaler that keeps %d to %d", shopName, setComponent, rolledPods, webComponent, rolledPods, mostWebs)
	if err := reset(ctx, p.client); err != nil {
		return err
	}
	if p.witness, err = newWitness(p.audit); err != nil {
		return err
	}
	p.live = freshApplication(image + "1.27")
	if err := p.client.Create(ctx, p.live); err != nil {
		return fmt.Errorf("creating Application %s: %w", shopName, err)
	}
	if err := p.untilRunning(ctx); err != nil {
		return err
	}
	for _, component := range []string{setComponent, webComponent} {
		if err := p.untilPods(ctx, component); err != nil {
			return err
		}
	}
	return nil
}

// begun takes both components to a new image, and a person has a look after the first batch.
func (p *app) begun(ctx context.Context) (err error) {
	name := image + "1.28"
	p.begin("Both get %s, in batches of %d, one component after the other; after the first batch a person has a look", name, perBatch)
	if p.from, err = p.edit(ctx, func(s *oamv1beta1.Application) {
		withImage(s, setComponent, name)
		withImage(s, webComponent, name)
		s.Spec.RolloutPlan.BatchPartition = ptr.To[int32](0)
	}); err != nil {
		return err
	}
	if err := p.untilAtPartition(ctx); err != nil {
		return err
	}
	for component, want := range map[string]int{setComponent: perBatch, webComponent: 0} {
		pods, err := p.podsOf(ctx, component)
		if err != nil {
			return err
		}
		got := running(pods, name)
		p.say("%-12s %d of %d pods have the new image", component, got, len(pods))
		p.promise(got == want, "%d pods of %s had %s while a person looked at them, not %d", got, component, name, want)
	}
	return nil
}

// overtaken edits the application again while its rollout waits.
func (p *app) overtaken(ctx context.Context) error {
	middle, name := image+"1.28", image+"1.29"
	p.begin("In the middle of that the person finds a mistake: %s takes over, and nothing else stops it", name)
	if _, err := p.edit(ctx, func(s *oamv1beta1.Application) {
		withImage(s, setComponent, name)
		withImage(s, webComponent, name)
		s.Spec.RolloutPlan.BatchPartition = nil
	}); err != nil {
		return err
	}
	if err := p.untilRunning(ctx); err != nil {
		return err
	}
	if err := p.judgeSet(ctx, p.from, name); err != nil {
		return err
	}
	if err := p.judgeWeb(ctx, p.from, name, ""); err != nil {
		return err
	}
	return p.atMost(ctx, middle, map[string]int{setComponent: perBatch, webComponent: 0})
}

// back edits one component, and goes back in the middle of its rollout.
func (p *app) back(ctx context.Context) error {
	name, old := image+"1.30", image+"1.29"
	p.begin("Only %s gets %s; after the first batch the person undoes the edit, and it goes back in batches", webComponent, name)
	from, err := p.edit(ctx, func(s *oamv1beta1.Application) {
		withImage(s, webComponent, name)
		s.Spec.RolloutPlan.BatchPartition = ptr.To[int32](0)
	})
	if err != nil {
		return err
	}
	if err := p.untilAtPartition(ctx); err != nil {
		return err
	}
	if _, err := p.edit(ctx, func(s *oamv1beta1.Application) {
		withImage(s, webComponent, old)
		s.Spec.RolloutPlan.BatchPartition = nil
	}); err != nil {
		return err
	}
	if err := p.untilRunning(ctx); err != nil {
		return err
	}
	if err := p.judgeWeb(ctx, from, old, name); err != nil {
		return err
	}
	return p.untouched(ctx, from, setComponent)
}

// edit changes the application as a person would, and returns the version of the cluster with the change.
func (p *app) edit(ctx context.Context, how func(*oamv1beta1.Application)) (uint64, error) {
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(p.live), p.live); err != nil {
		return 0, fmt.Errorf("reading Application %s: %w", shopName, err)
	}
	before := p.live.DeepCopy()
	how(p.live)
	if err := p.client.Patch(ctx, p.live, client.MergeFrom(before)); err != nil {
		return 0, fmt.Errorf("changing Application %s: %w", shopName, err)
	}
	return version(p.live.ResourceVersion)
}

// follow tells what the application says of itself, each sentence once, until enough says so of what it has seen of the spec.
func (p *app) follow(ctx context.Context, enough func(*oamv1beta1.Application) bool) error {
	last, generation := "", p.live.Generation
	err := wait.PollUntilContextTimeout(ctx, lookEvery, releaseTime, true, func(ctx context.Context) (bool, error) {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(p.live), p.live); err != nil {
			return false, fmt.Errorf("reading Application %s: %w", shopName, err)
		}
		if p.live.Status.ObservedGeneration < generation {
			return false, nil
		}
		if line := toldApplication(p.live); line != last {
			p.say("%s", line)
			last = line
		}
		return enough(p.live), nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("application %s is not there after %s: %s", shopName, releaseTime, last)
	}
	return err
}

// toldApplication is how an application is, in one line. Pods are not named: they are waited for all the time.
func toldApplication(a *oamv1beta1.Application) string {
	s := &a.Status
	revision, said := "", "(nothing is said yet)"
	if s.LatestRevision != nil {
		revision = s.LatestRevision.Name
	}
	if ready := apimeta.FindStatusCondition(s.Conditions, oamv1beta1.ConditionReady); ready != nil {
		said, _, _ = strings.Cut(ready.Message, "; waiting for pod")
	}
	return fmt.Sprintf("%-8s %-13s %s", revision, s.Phase, said)
}

func (p *app) untilRunning(ctx context.Context) error {
	return p.follow(ctx, func(a *oamv1beta1.Application) bool {
		return apimeta.IsStatusConditionTrue(a.Status.Conditions, oamv1beta1.ConditionReady)
	})
}

// untilAtPartition waits until the rollout has waited for a person for the time of hesitation.
func (p *app) untilAtPartition(ctx context.Context) error {
	var since time.Time
	return p.follow(ctx, func(a *oamv1beta1.Application) bool {
		if apimeta.IsStatusConditionTrue(a.Status.Conditions, oamv1beta1.ConditionReady) {
			return true // which must not be: the number of pods tells
		}
		if a.Status.Rollout == nil || a.Status.Rollout.WaitingFor != rolloutv1alpha1.WaitingAtPartition {
			since = time.Time{}
			return false
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) >= hesitation
	})
}

// untilPods waits until a component has its pods: those of the Deployment come from the autoscaler, after its rollout.
func (p *app) untilPods(ctx context.Context, component string) error {
	err := wait.PollUntilContextTimeout(ctx, lookEvery, releaseTime, true, func(ctx context.Context) (bool, error) {
		pods, err := p.podsOf(ctx, component)
		return err == nil && serving(pods) == rolledPods, err
	})
	if err != nil {
		return fmt.Errorf("waiting for %d pods of %s: %w", rolledPods, component, err)
	}
	p.say("%-12s %d pods are available", component, rolledPods)
	return nil
}
