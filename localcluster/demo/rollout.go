// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

const (
	// rolledPods are in each workload of the scenario, and perBatch of them make a batch.
	rolledPods = 6
	perBatch   = 2
	// errorsOfBatches is what the demo's own server of metrics answers: how many errors a minute each batch makes.
	errorsOfBatches = `{"errorsPerMinute": [0, 9, 0]}`
	errorsMetric    = "errors"
)

// What the scenario moves: of two Deployments the one takes the place of the other, and a CloneSet holds both of its versions itself.
const (
	olderShop = "shop-v1"
	newerShop = "shop-v2"
	rolledSet = "api"
)

// rollout is the state of the scenario.
type rollout struct {
	*stage
	witness *witness
	metrics string // where the server of metrics is
	broken  []string
}

// rollouts rolls out two Deployments and a CloneSet in batches, and has a metric revert the next version.
func rollouts() scenario {
	return scenario{
		play: playRollouts, command: "cloneset", resource: "clonesets.apps.kruise.io", name: rolledSet,
		local: "its metrics are served on this machine",
	}
}

func playRollouts(ctx context.Context, s *stage) ([]string, error) {
	p := &rollout{stage: s}
	server, err := p.serveMetrics()
	if err != nil {
		return nil, err
	}
	defer server.Close()
	for _, chapter := range []func(context.Context) error{p.create, p.pair, p.inBatches, p.reverted, p.free} {
		if err := chapter(ctx); err != nil {
			return nil, err
		}
	}
	return p.broken, nil
}

// serveMetrics serves the document that the metric is read from.
func (p *rollout) serveMetrics() (*http.Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the server of metrics: %w", err)
	}
	p.metrics = "http://" + listener.Addr().String() + "/errors.json"
	server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(errorsOfBatches)) // whoever asked may have gone
	})}
	go func() { _ = server.Serve(listener) }() // it ends when it is closed, and with nothing else to tell
	return server, nil
}

func freshDeployment(name, image string, replicas int32) *appsv1.Deployment {
	pods := template(name)
	pods.Spec.Containers[0].Image = image
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels(name)}, Template: pods,
	}}
}

func freshRolledSet() *kruisev1alpha1.CloneSet {
	return &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: rolledSet}, Spec: kruisev1alpha1.CloneSetSpec{
		Replicas: ptr.To[int32](rolledPods), Selector: &metav1.LabelSelector{MatchLabels: labels(rolledSet)}, Template: template(rolledSet),
		UpdateStrategy: kruisev1alpha1.CloneSetUpdateStrategy{
			Type: kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType, MaxUnavailable: ptr.To(intstr.FromInt32(perBatch)),
		},
	}}
}

// freshRollout is a plan of equal batches for a target.
func freshRollout(name string, target rolloutv1alpha1.WorkloadReference) *rolloutv1alpha1.RolloutTrait {
	return &rolloutv1alpha1.RolloutTrait{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: rolloutv1alpha1.RolloutTraitSpec{
			TargetRef: target, RolloutPlan: rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](rolledPods / perBatch)},
		},
	}
}

func deploymentRef(name string) rolloutv1alpha1.WorkloadReference {
	return rolloutv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}
}

func setRef() rolloutv1alpha1.WorkloadReference {
	return rolloutv1alpha1.WorkloadReference{APIVersion: kruisev1alpha1.GroupVersion.String(), Kind: kruisev1alpha1.CloneSetKind, Name: rolledSet}
}

func freshMetric(address string) *rolloutv1alpha1.MetricTemplate {
	return &rolloutv1alpha1.MetricTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: errorsMetric},
		Spec: rolloutv1alpha1.MetricTemplateSpec{
			Provider: rolloutv1alpha1.MetricProvider{Type: rolloutv1alpha1.WebProvider, Address: address},
			Query:    "{.errorsPerMinute[{{ .Batch }}]}",
		},
	}
}

func (p *rollout) promise(kept bool, format string, args ...any) {
	if !kept {
		p.broken = append(p.broken, fmt.Sprintf(format, args...))
	}
}

func (p *rollout) create(ctx context.Context) (err error) {
	p.begin("A Deployment %s and a CloneSet %s, of %d pods each", olderShop, rolledSet, rolledPods)
	if err := reset(ctx, p.client); err != nil {
		return err
	}
	if p.witness, err = newWitness(p.audit); err != nil {
		return err
	}
	for _, o := range []client.Object{
		freshDeployment(olderShop, image+"1.27", rolledPods), freshDeployment(newerShop, image+"1.28", 0), freshRolledSet(), freshMetric(p.metrics),
	} {
		if err := p.client.Create(ctx, o); err != nil {
			return fmt.Errorf("creating %T %s: %w", o, o.GetName(), err)
		}
	}
	for _, app := range []string{olderShop, rolledSet} {
		err := wait.PollUntilContextTimeout(ctx, lookEvery, releaseTime, true, func(ctx context.Context) (bool, error) {
			pods, err := p.podsOf(ctx, app)
			return err == nil && serving(pods) == rolledPods, err
		})
		if err != nil {
			return fmt.Errorf("waiting for the first pods of %s: %w", app, err)
		}
	}
	p.say("%d pods of each are available", rolledPods)
	return nil
}

// pair takes one Deployment's place by another.
func (p *rollout) pair(ctx context.Context) error {
	p.begin("A RolloutTrait moves the pods of Deployment %s to %s, %d in a batch", olderShop, newerShop, perBatch)
	trait := freshRollout("shop", deploymentRef(newerShop))
	trait.Spec.SourceRef = []rolloutv1alpha1.WorkloadReference{deploymentRef(olderShop)}
	from, err := p.start(ctx, trait)
	if err != nil {
		return err
	}
	if err := p.untilEnded(ctx, trait, rolloutv1alpha1.RolloutSucceedState); err != nil {
		return err
	}
	both, err := p.testify(ctx, from, olderShop, newerShop)
	if err != nil {
		return err
	}
	p.say("pods         at least %d available and at most %d at any time (%d states seen)", both.least, both.most, both.states)
	p.promise(both.least >= rolledPods, "%d pods of both Deployments were available, %d are to be at any time", both.least, rolledPods)
	p.promise(both.most <= rolledPods+perBatch, "there were %d pods of both Deployments, a batch more than %d at most", both.most, rolledPods)
	for _, want := range []struct {
		name string
		pods int
	}{{olderShop, 0}, {newerShop, rolledPods}} {
		pods, err := p.podsOf(ctx, want.name)
		if err != nil {
			return err
		}
		p.say("%s      %d pods", want.name, len(pods))
		p.promise(len(pods) == want.pods, "%s has %d pods, not %d", want.name, len(pods), want.pods)
	}
	return nil
}

// inBatches takes a CloneSet to a new image, and waits for a person after the first batch.
func (p *rollout) inBatches(ctx context.Context) error {
	name := image + "1.28"
	p.begin("CloneSet %s gets %s in batches of %d, in place; after the first one a person has a look", rolledSet, name, perBatch)
	if err := p.pausedImage(ctx, name); err != nil {
		return err
	}
	trait := freshRollout("api-1-28", setRef())
	trait.Spec.RolloutPlan.BatchPartition = ptr.To[int32](0)
	from, err := p.start(ctx, trait)
	if err != nil {
		return err
	}
	var since time.Time
	err = p.follow(ctx, trait, func(t *rolloutv1alpha1.RolloutTrait) bool {
		if t.Status.WaitingFor != rolloutv1alpha1.WaitingAtPartition {
			return t.Status.RollingState.IsFinal() // which must not be: the number of pods tells
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) >= hesitation
	})
	if err != nil {
		return err
	}
	pods, err := p.podsOf(ctx, rolledSet)
	if err != nil {
		return err
	}
	p.promise(running(pods, name) == perBatch, "%d pods had the new image while a person looked at them, not %d", running(pods, name), perBatch)
	p.say("For %.0f seconds %d of %d pods had the new image, and nothing went on. The person removes batchPartition.", hesitation.Seconds(), running(pods, name), rolledPods)
	before := trait.DeepCopy()
	trait.Spec.RolloutPlan.BatchPartition = nil
	if err := p.client.Patch(ctx, trait, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("changing RolloutTrait %s: %w", trait.Name, err)
	}
	if err := p.untilEnded(ctx, trait, rolloutv1alpha1.RolloutSucceedState); err != nil {
		return err
	}
	return p.judgeSet(ctx, from, name, name, rolledPods)
}

// reverted takes it to an image whose errors grow in the second batch.
func (p *rollout) reverted(ctx context.Context) error {
	name, old := image+"1.29", image+"1.28"
	p.begin("%s has errors, and only the second batch shows them: a metric fails, and the rollout is reverted", name)
	if err := p.pausedImage(ctx, name); err != nil {
		return err
	}
	trait := freshRollout("api-1-29", setRef())
	plan := &trait.Spec.RolloutPlan
	plan.FailurePolicy = rolloutv1alpha1.RevertOnFailure
	plan.CanaryMetric = []rolloutv1alpha1.CanaryMetric{{
		Name: errorsMetric, Interval: &metav1.Duration{Duration: time.Second}, TemplateRef: rolloutv1alpha1.MetricTemplateReference{Name: errorsMetric},
		MetricsRange: &rolloutv1alpha1.MetricsExpectedRange{Max: ptr.To(intstr.FromInt32(1))},
	}}
	p.say("%s answers %s; at most 1 is allowed", p.metrics, errorsOfBatches)
	from, err := p.start(ctx, trait)
	if err != nil {
		return err
	}
	if err := p.untilEnded(ctx, trait, rolloutv1alpha1.RolloutFailedState); err != nil {
		return err
	}
	reason := ""
	if f := trait.Status.Failure; f != nil {
		reason = f.Reason
	}
	p.promise(reason == "MetricFailed", "the reason for the failure is %q, not MetricFailed", reason)
	return p.judgeSet(ctx, from, name, old, 2*perBatch)
}

// pausedImage changes the image, and has the set wait for its rollout in the same write.
func (p *rollout) pausedImage(ctx context.Context, name string) error {
	set := freshRolledSet()
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
		return fmt.Errorf("reading CloneSet %s: %w", set.Name, err)
	}
	before := set.DeepCopy()
	set.Spec.Template.Spec.Containers[0].Image, set.Spec.UpdateStrategy.Paused = name, true
	if err := p.client.Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("changing the image of CloneSet %s: %w", set.Name, err)
	}
	return nil
}

// start creates the rollout, and returns the version of the cluster before it.
func (p *rollout) start(ctx context.Context, trait *rolloutv1alpha1.RolloutTrait) (uint64, error) {
	if err := p.client.Create(ctx, trait); err != nil {
		return 0, fmt.Errorf("creating RolloutTrait %s: %w", trait.Name, err)
	}
	return version(trait.ResourceVersion)
}

// follow tells what the rollout says of itself, each sentence once, until enough says so of what it has seen of the spec.
func (p *rollout) follow(ctx context.Context, trait *rolloutv1alpha1.RolloutTrait, enough func(*rolloutv1alpha1.RolloutTrait) bool) error {
	last, generation := "", trait.Generation
	err := wait.PollUntilContextTimeout(ctx, lookEvery, releaseTime, true, func(ctx context.Context) (bool, error) {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(trait), trait); err != nil {
			return false, fmt.Errorf("reading RolloutTrait %s: %w", trait.Name, err)
		}
		if line := told(trait); line != last {
			p.say("%s", line)
			last = line
		}
		return trait.Status.ObservedGeneration >= generation && enough(trait), nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("rollout %s is not there after %s: %s", trait.Name, releaseTime, last)
	}
	return err
}

func (p *rollout) untilEnded(ctx context.Context, trait *rolloutv1alpha1.RolloutTrait, want rolloutv1alpha1.RollingState) error {
	err := p.follow(ctx, trait, func(t *rolloutv1alpha1.RolloutTrait) bool { return t.Status.RollingState.IsFinal() })
	if err != nil {
		return err
	}
	p.promise(trait.Status.RollingState == want, "rollout %s ended as %s, not as %s", trait.Name, trait.Status.RollingState, want)
	return nil
}

// podsOf are the pods of an application that are not about to go.
func (s *stage) podsOf(ctx context.Context, app string) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := s.client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(labels(app))); err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", app, err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods, nil
}

// ownerOf is the UID that the pods of an application have as their controller's.
func (p *rollout) ownerOf(ctx context.Context, app string) (types.UID, error) {
	if app == rolledSet {
		set := freshRolledSet()
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return "", fmt.Errorf("reading CloneSet %s: %w", set.Name, err)
		}
		return set.UID, nil
	}
	list := &appsv1.ReplicaSetList{}
	if err := p.client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(labels(app))); err != nil {
		return "", fmt.Errorf("listing the ReplicaSets of %s: %w", app, err)
	}
	if len(list.Items) != 1 {
		return "", fmt.Errorf("deployment %s has %d ReplicaSets: only its pods were to be moved", app, len(list.Items))
	}
	return list.Items[0].UID, nil
}
