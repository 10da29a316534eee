// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/node"
)

// stage plays a world: it follows plans as a server would, lets nodes act, and lets time pass.
type stage struct {
	world  plan.World
	now    time.Time
	node   node.Model
	serial int
	writes int // since the beginning
	log    []string
}

func stageOf(set *kruisev1beta1.StatefulSet) *stage {
	s := &stage{now: now, node: node.Model{ReadyDelay: time.Second, ShutdownDelay: 2 * time.Second}}
	s.world = plan.World{Set: set, Claims: map[string]*corev1.PersistentVolumeClaim{}}
	s.template(builders.Image)
	return s
}

func (s *stage) template(image string) {
	s.world.Set.Spec.Template.Spec.Containers[0].Image = image
	s.world.Live = revision.FromTemplate(&s.world.Set.Spec.Template)
}

func (s *stage) version() string {
	s.serial++
	return fmt.Sprint(s.serial)
}

// pass is one pass of the manager.
func (s *stage) pass() plan.Plan {
	next := plan.Next(s.world, s.now)
	s.log = append(s.log, fmt.Sprintf("%s: %s", s.now.Format("04:05"), next.Held))
	for _, each := range next.Steps {
		s.log = append(s.log, fmt.Sprintf("  %T %s: %s", each, each.Subject(), each.Why()))
		s.take(each)
	}
	s.writes += len(next.Steps)
	s.report(next)
	return next
}

func (s *stage) take(each step.Step) {
	switch each := each.(type) {
	case step.CreateRevision:
		stored := each.Revision.DeepCopy()
		stored.UID, stored.ResourceVersion = types.UID(stored.Name), s.version()
		s.world.Revisions = append(s.world.Revisions, revision.Decode(stored))
	case step.RenumberRevision:
		for i, r := range s.world.Revisions {
			if r.Name == each.Name {
				stored := r.Object.DeepCopy()
				stored.Revision, stored.ResourceVersion = each.Number, s.version()
				s.world.Revisions[i] = revision.Decode(stored)
			}
		}
	case step.ForgetRevision:
		s.world.Revisions = slices.DeleteFunc(s.world.Revisions, func(r revision.Revision) bool { return r.Name == each.Name })
	case step.CreatePod:
		s.create(each.Pod)
	case step.DeletePod:
		s.modify(each.Target, func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(s.now.Add(30*time.Second))), ptr.To[int64](30)
		})
	case step.PatchPod:
		s.modify(each.Target, func(p *corev1.Pod) { s.conditions(p, each.Conditions); patch(p, each.Patch) })
	case step.SetConditions:
		s.modify(each.Target, func(p *corev1.Pod) { s.conditions(p, each.Conditions) })
	case step.UpdateInPlace:
		s.modify(each.Target, func(p *corev1.Pod) { s.conditions(p, each.Drain); patch(p, each.Patch) })
	case step.CreateClaim:
		if s.world.Claims[each.Claim.Name] != nil {
			panic("claim " + each.Claim.Name + " exists")
		}
		c := each.Claim.DeepCopy()
		c.UID, c.ResourceVersion = types.UID(s.version()), s.version()
		c.Status.Phase, c.Status.Capacity = corev1.ClaimBound, c.Spec.Resources.Requests
		s.claim(c)
	case step.GiveClaim:
		c := s.world.Claims[each.Name].DeepCopy()
		c.OwnerReferences, c.ResourceVersion = each.Owners, s.version()
		s.claim(c)
	case step.ResizeClaim:
		c := s.world.Claims[each.Name].DeepCopy()
		c.Spec.Resources, c.ResourceVersion = each.Resources, s.version()
		s.claim(c)
	default:
		panic(fmt.Sprintf("the stage cannot take %T", each))
	}
}

func (s *stage) claim(c *corev1.PersistentVolumeClaim) {
	claims := maps.Clone(s.world.Claims)
	claims[c.Name] = c
	s.world.Claims = claims
}

func (s *stage) create(from *corev1.Pod) {
	if s.pod(from.Name) != nil {
		panic("pod " + from.Name + " exists")
	}
	created := from.DeepCopy()
	created.UID, created.ResourceVersion, created.Generation = types.UID("uid-"+s.version()), s.version(), 1
	created.CreationTimestamp, created.Spec.NodeName = metav1.NewTime(s.now), "node-1"
	created.Status = corev1.PodStatus{Phase: corev1.PodPending}
	s.world.Pods = append(s.world.Pods, created)
}

func (s *stage) pod(name string) *corev1.Pod {
	for _, p := range s.world.Pods {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// modify changes a copy: the plan was made for the pod as it was.
func (s *stage) modify(t step.Target, change func(*corev1.Pod)) {
	i := slices.IndexFunc(s.world.Pods, func(p *corev1.Pod) bool { return p.UID == t.UID })
	if i < 0 || s.world.Pods[i].ResourceVersion != t.ResourceVersion {
		panic("two steps for pod " + t.Name)
	}
	changed := s.world.Pods[i].DeepCopy()
	change(changed)
	changed.ResourceVersion = s.version()
	s.world.Pods = slices.Clone(s.world.Pods)
	s.world.Pods[i] = changed
}

func (s *stage) conditions(p *corev1.Pod, conditions []corev1.PodCondition) {
	for _, c := range conditions {
		p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type })
		p.Status.Conditions = append(p.Status.Conditions, c)
	}
}

func patch(p *corev1.Pod, change step.Patch) {
	p.Labels, p.Annotations = overlay(p.Labels, change.Labels), overlay(p.Annotations, change.Annotations)
	for i := range p.Spec.Containers {
		if image, some := change.Images[p.Spec.Containers[i].Name]; some {
			p.Spec.Containers[i].Image = image
			p.Generation++
		}
	}
	p.Finalizers = slices.DeleteFunc(append(p.Finalizers, change.AddFinalizers...), func(f string) bool { return slices.Contains(change.RemoveFinalizers, f) })
}

func overlay(under map[string]string, over map[string]*string) map[string]string {
	both := maps.Clone(under)
	for key, value := range over {
		if value == nil {
			delete(both, key)
		} else {
			both[key] = *value
		}
	}
	return both
}

// nodes lets the nodes act for a while.
func (s *stage) nodes(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(time.Second) {
		var left []*corev1.Pod
		for _, p := range s.world.Pods {
			outcome := s.node.Next(p, s.now)
			if outcome.Gone {
				continue
			}
			if outcome.Status != nil {
				p = p.DeepCopy()
				p.Status, p.ResourceVersion = *outcome.Status, s.version()
			}
			left = append(left, p)
		}
		s.world.Pods = left
	}
}

// report writes what a status keeps that decisions depend on.
func (s *stage) report(next plan.Plan) {
	status := &s.world.Set.Status
	status.UpdateRevision, status.CurrentRevision = next.UpdateRevision, next.CurrentRevision
	ready, updated := 0, 0
	for _, m := range next.Members {
		if m.Ready {
			ready++
		}
		if m.Updated && !pod.IsTerminating(m.Pod) {
			updated++
		}
	}
	if r := next.Limits.Replicas; next.Invalid == nil && ready == r && updated == r && len(next.Members) == r {
		status.CurrentRevision = next.UpdateRevision
	}
}

// help deletes all pods that are not wanted any more, by hand.
func (s *stage) help() {
	for _, m := range plan.Next(s.world, s.now).Members {
		if m.Position < 0 && !pod.IsTerminating(m.Pod) {
			s.take(step.DeletePod{Target: step.On(s.pod(m.Pod.Name))})
		}
	}
}

// settle lets passes and nodes take turns until nothing happens any more. It returns false when that takes too long.
func (s *stage) settle() bool {
	quiet := 0
	for range 200 {
		next := s.pass()
		before := s.serial
		s.nodes(2 * time.Second)
		if len(next.Steps) == 0 && s.serial == before {
			quiet++
		} else {
			quiet = 0
		}
		if quiet > 10 {
			return true
		}
	}
	return false
}

// is tells what the members are, by ordinal: image and whether they are available.
func (s *stage) is() string {
	var words []string
	for _, m := range plan.Next(s.world, s.now).Members {
		word := fmt.Sprintf("%d:%s", m.Ordinal, strings.TrimPrefix(m.Pod.Spec.Containers[0].Image, "registry.test/app:"))
		if !m.Available {
			word += "!"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

const broken = "-broken"

func image(version int, good bool) string {
	if good {
		return fmt.Sprintf("registry.test/app:v%d", version)
	}
	return fmt.Sprintf("registry.test/app:v%d%s", version, broken)
}
