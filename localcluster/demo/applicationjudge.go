// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/audit"
)

// history is that of a component's pods, whichever workload they are of.
func (p *app) history(ctx context.Context, component string) (*audit.History, error) {
	pods, err := p.podsOf(ctx, component)
	if err != nil {
		return nil, err
	}
	return p.witness.testifyOf(ctx, func(pod *corev1.Pod) bool {
		return pod.Namespace == namespace && pod.Labels["app"] == component
	}, pods)
}

// judgeSet looks at a release of the component that is updated in place.
func (p *app) judgeSet(ctx context.Context, from uint64, name string) error {
	h, err := p.history(ctx, setComponent)
	if err != nil {
		return err
	}
	a := newAccount(evidence{history: h, window: audit.Window{From: from}}, rolledPods, perBatch, name)
	p.say("%-12s %d of %d pods kept their UID and IP, %d run %s, at most %d unavailable at any time, %d allowed (%d states seen)",
		setComponent, a.Kept, a.Replicas, a.Got, name, a.Worst, a.Allowance, a.States)
	for _, broken := range a.Broken(rolledPods) {
		p.broken = append(p.broken, setComponent+": "+broken)
	}
	return nil
}

// judgeWeb looks at a release of the component whose Deployments live side by side: name is the image in the end, and tried
// the one that was gone back from, if there is one.
func (p *app) judgeWeb(ctx context.Context, from uint64, name, tried string) error {
	h, err := p.history(ctx, webComponent)
	if err != nil {
		return err
	}
	w := audit.Window{From: from}
	seen := together(w, h)
	p.say("%-12s at least %d available and at most %d pods at any time (%d states seen)", webComponent, seen.least, seen.most, seen.states)
	p.promise(seen.least >= rolledPods, "%d pods of %s were available, %d are to be at any time", seen.least, webComponent, rolledPods)
	p.promise(seen.most <= rolledPods+perBatch, "there were %d pods of %s, a batch more than %d at most", seen.most, webComponent, rolledPods)
	if tried != "" {
		ever := len(h.Ever(w, func(pod *corev1.Pod) bool { return runs(pod, tried) }))
		p.say("%-12s %d pods ever had %s", webComponent, ever, tried)
		p.promise(ever == perBatch, "%d pods of %s had %s, %d were to", ever, webComponent, tried, perBatch)
	}
	if err := p.untilPods(ctx, webComponent); err != nil {
		return err
	}
	pods, err := p.podsOf(ctx, webComponent)
	if err != nil {
		return err
	}
	got := running(pods, name)
	p.promise(got == rolledPods, "%d pods of %s run %s, %d should", got, webComponent, name, rolledPods)
	return p.judgeScaler(ctx)
}

// judgeScaler looks at whom the autoscaler scales: the only Deployment that is left, and within its own bounds.
func (p *app) judgeScaler(ctx context.Context) error {
	scaler := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: webComponent}, scaler); err != nil {
		return fmt.Errorf("reading the autoscaler: %w", err)
	}
	all, err := p.workloads(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, o := range all {
		if o.GetLabels()[oamv1beta1.LabelComponent] == webComponent {
			names = append(names, o.GetName())
		}
	}
	least := int32(1)
	if scaler.Spec.MinReplicas != nil {
		least = *scaler.Spec.MinReplicas
	}
	p.say("%-12s Deployments: %s; the autoscaler keeps %d to %d pods of %s", webComponent, strings.Join(names, ", "), least, scaler.Spec.MaxReplicas, scaler.Spec.ScaleTargetRef.Name)
	p.promise(slices.Equal(names, []string{scaler.Spec.ScaleTargetRef.Name}), "the autoscaler scales %s, and there are %s", scaler.Spec.ScaleTargetRef.Name, strings.Join(names, ", "))
	p.promise(least == rolledPods, "the autoscaler keeps at least %d pods, not %d", least, rolledPods)
	return nil
}

// atMost looks for the pods that ever had an image that was overtaken.
func (p *app) atMost(ctx context.Context, name string, want map[string]int) error {
	for _, component := range slices.Sorted(maps.Keys(want)) {
		h, err := p.history(ctx, component)
		if err != nil {
			return err
		}
		ever := len(h.Ever(audit.Window{}, func(pod *corev1.Pod) bool { return runs(pod, name) }))
		p.say("%-12s %d pods ever had %s", component, ever, name)
		p.promise(ever <= want[component], "%d pods of %s had %s, %d were to", ever, component, name, want[component])
	}
	return nil
}

// untouched looks at a component that was not edited: no pod of it has changed.
func (p *app) untouched(ctx context.Context, from uint64, component string) error {
	h, err := p.history(ctx, component)
	if err != nil {
		return err
	}
	states := len(h.Moments(audit.Window{From: from}, 0)) - 1 // the first is how it began
	p.say("%-12s %d changes of its pods: it was not edited", component, states)
	p.promise(states == 0, "pods of %s changed %d times, and it was not edited", component, states)
	return nil
}

// free looks for what rollouts have left, and for whose the workloads are.
func (p *app) free(ctx context.Context) error {
	all, err := p.left(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		marks := marksOn(o)
		p.promise(len(marks) == 0, "%s still has %s", o.GetName(), strings.Join(marks, ", "))
		p.promise(metav1.IsControlledBy(o, p.live), "%s is not controlled by the application", o.GetName())
	}
	return nil
}
