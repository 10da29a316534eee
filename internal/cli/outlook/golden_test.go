// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/golden"
)

const (
	kruise  = "apps.kruise.io/v1alpha1"
	kruise2 = "apps.kruise.io/v1beta1"
	cafe    = "apps.cafe.cloud.alipay.com/v1alpha1"
	birds   = "birds.example.com/v1"
)

// paused is how each kind is held, and how it updates in place where it can.
var paused = map[string]fields{
	kruise + " CloneSet":     {"spec.updateStrategy.paused": true, "spec.updateStrategy.type": "InPlaceIfPossible"},
	kruise2 + " StatefulSet": {"spec.updateStrategy.rollingUpdate": map[string]any{"paused": true, "podUpdatePolicy": "InPlaceIfPossible"}},
	"apps/v1 StatefulSet":    {"spec.updateStrategy.rollingUpdate.partition": int64(6)},
	"apps/v1 DaemonSet":      {"spec.updateStrategy.type": "OnDelete"},
	cafe + " InPlaceSet":     {"spec.strategy.paused": true},
	cafe + " CafeDeployment": {"spec.strategy.pause": true},
	birds + " Flock":         {"spec.keep": int64(6)},
}

// held is a workload of six pods that has a newer template, and is held.
func (s *scene) held(apiVersion, kind string) *unstructured.Unstructured {
	s.t.Helper()
	change := fields{}
	if kind == "Flock" {
		s.definition()
		change = fields{"spec.birds": int64(6), "spec.keep": int64(0), "status.fresh": int64(6), "status.freshSinging": int64(6)}
	}
	w := s.workload(apiVersion, kind, "web", 6, change)
	s.newer(w, paused[apiVersion+" "+kind])
	return w
}

// surging is a DaemonSet of three pods that nothing holds, and that makes new pods beside older ones. It has a newer template.
func (s *scene) surging(n int64) *unstructured.Unstructured {
	w := s.workload("apps/v1", "DaemonSet", "web", 3, fields{
		"spec.updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": n, "maxUnavailable": int64(0)}},
	})
	s.newer(w, nil)
	return w
}

// doesNotStart gives a pod an image that cannot be pulled.
func doesNotStart(p *corev1.Pod) {
	p.Spec.Containers[0].Image = "registry.test/app:v2"
	p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
}

// definition has the kind Flock say how it is rolled out.
func (s *scene) definition() {
	d := &unstructured.Unstructured{Object: map[string]any{}}
	d.SetAPIVersion("apiextensions.k8s.io/v1")
	d.SetKind("CustomResourceDefinition")
	d.SetName("flocks.birds.example.com")
	d.SetAnnotations(map[string]string{
		"rollout.slipway.dev/replicas-path": ".spec.birds", "rollout.slipway.dev/partition-path": ".spec.keep",
		"rollout.slipway.dev/updated-path": ".status.fresh", "rollout.slipway.dev/updated-available-path": ".status.freshSinging",
	})
	s.objects = append(s.objects, d)
}

func TestForward(t *testing.T) {
	for name, kind := range map[string][2]string{
		"forward-cloneset": {kruise, "CloneSet"}, "forward-advanced-statefulset": {kruise2, "StatefulSet"}, "forward-statefulset": {"apps/v1", "StatefulSet"},
		"forward-daemonset": {"apps/v1", "DaemonSet"}, "forward-inplaceset": {cafe, "InPlaceSet"}, "forward-cafedeployment": {cafe, "CafeDeployment"},
		"forward-declared": {birds, "Flock"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{t: t}
			golden.Lines(t, name+".txt", s.foresee(rollout(s.held(kind[0], kind[1]), 1, "50%", nil), nil).Lines(false))
		})
	}
}

// plan changes the plan of a rollout.
func plan(r *rolloutv1alpha1.RolloutTrait, change func(*rolloutv1alpha1.RolloutPlan)) *rolloutv1alpha1.RolloutTrait {
	change(&r.Spec.RolloutPlan)
	return r
}

// pair is a rollout from one Deployment of six pods to another.
func pair(s *scene, change func(*rolloutv1alpha1.RolloutPlan)) *rolloutv1alpha1.RolloutTrait {
	older, newer := s.workload("apps/v1", "Deployment", "web-v1", 6, nil), s.workload("apps/v1", "Deployment", "web-v2", 0, nil)
	r := rollout(newer, 1, "50%", nil)
	r.Spec.SourceRef = []rolloutv1alpha1.WorkloadReference{ref(older)}
	return plan(r, change)
}

func size(n int32) func(*rolloutv1alpha1.RolloutPlan) {
	return func(p *rolloutv1alpha1.RolloutPlan) { p.TargetSize = &n }
}

// withEverything waits for all that a rollout can wait for.
func withEverything(p *rolloutv1alpha1.RolloutPlan) {
	hook := func(kind rolloutv1alpha1.HookType, name string) rolloutv1alpha1.RolloutWebhook {
		return rolloutv1alpha1.RolloutWebhook{Type: kind, Name: name, URL: "http://127.0.0.1/"}
	}
	p.RolloutWebhooks = []rolloutv1alpha1.RolloutWebhook{
		hook(rolloutv1alpha1.InitializeRolloutHook, "announce"), hook(rolloutv1alpha1.PreBatchRolloutHook, "ready"),
		hook(rolloutv1alpha1.PostBatchRolloutHook, "smoke"), hook(rolloutv1alpha1.FinalizeRolloutHook, "announce"),
	}
	p.CanaryMetric = []rolloutv1alpha1.CanaryMetric{{Name: "errors", MetricsRange: &rolloutv1alpha1.MetricsExpectedRange{Max: ptr.To(intstr.FromString("0.01"))}, Count: ptr.To[int32](3)}}
	p.RolloutBatches[1].InstanceInterval = ptr.To[int32](30)
	p.RolloutBatches[1].MaxUnavailable = ptr.To(intstr.FromInt32(1))
	p.BatchPartition = ptr.To[int32](0)
	p.Paused = true
}

func TestWhatIsForeseen(t *testing.T) {
	nothing := func(*rolloutv1alpha1.RolloutPlan) {}
	for name, make := range map[string]func(*scene) *rolloutv1alpha1.RolloutTrait{
		"pair-grows-first": func(s *scene) *rolloutv1alpha1.RolloutTrait { return pair(s, nothing) },
		"pair-shrinks-first": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			return pair(s, func(p *rolloutv1alpha1.RolloutPlan) { p.RolloutStrategy = rolloutv1alpha1.DecreaseFirst })
		},
		"scale-deployment-up": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			return plan(rollout(s.workload("apps/v1", "Deployment", "web", 3, nil), 1, "50%", nil), size(8))
		},
		"scale-cloneset-down": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			return plan(rollout(s.workload(kruise, "CloneSet", "web", 6, nil), 1, nil), size(3))
		},
		"scale-statefulset-up": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			return plan(rollout(s.workload("apps/v1", "StatefulSet", "web", 2, nil), 1, nil), size(5))
		},
		"waits-for-everything": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			return plan(rollout(s.held(kruise, "CloneSet"), 1, "50%", nil), withEverything)
		},
		"a-field-forces-new-pods": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			w := s.held(kruise, "CloneSet")
			containers := w.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
			containers[0].(map[string]any)["env"] = []any{map[string]any{"name": "MODE", "value": "new"}}
			return rollout(w, 2, nil)
		},
		"not-held": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			w := s.workload(kruise, "CloneSet", "web", 3, fields{"spec.updateStrategy.type": "InPlaceIfPossible"})
			s.newer(w, nil)
			return rollout(w, 1, nil)
		},
		"recreates-what-could-stay": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			w := s.workload(kruise2, "StatefulSet", "web", 3, nil)
			s.newer(w, fields{"spec.updateStrategy.rollingUpdate": map[string]any{"paused": true, "podUpdatePolicy": "ReCreate"}})
			return rollout(w, 1, nil)
		},
		"not-held-daemonset-that-surges": func(s *scene) *rolloutv1alpha1.RolloutTrait { return rollout(s.surging(1), 1, nil) },
		"a-surge-that-does-not-start": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			w := s.surging(2)
			newest := s.revision(w, 2)
			besides := s.pod(w, 3, newest.Name)
			doesNotStart(besides)
			s.objects = append(s.objects, besides)
			return rollout(w, 1, nil)
		},
		"no-workload": func(*scene) *rolloutv1alpha1.RolloutTrait {
			r := rollout(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet"}}, 1, nil)
			r.Spec.TargetRef.Name = "web"
			return r
		},
		"only-numbers-are-known": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			w := s.held(kruise, "CloneSet")
			s.objects = s.objects[:1]
			return rollout(w, 2, nil)
		},
		"an-image-that-does-not-start": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			w := s.held("apps/v1", "StatefulSet")
			newest := s.revision(w, 2)
			put(s.t, w, fields{"status.updateRevision": newest.Name, "status.observedGeneration": w.GetGeneration(), "spec.updateStrategy.rollingUpdate.partition": int64(5)})
			for _, o := range s.objects {
				if p, is := o.(*corev1.Pod); is && p.Name == "web-5" {
					p.Labels[kruisev1alpha1.LabelRevision] = newest.Name
					doesNotStart(p)
				}
			}
			return rollout(w, 2, nil)
		},
		"nothing-new": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			return rollout(s.workload(kruise, "CloneSet", "web", 3, nil), 1, nil)
		},
		"many-pods": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			w := s.workload("apps/v1", "StatefulSet", "web", 12, nil)
			s.newer(w, fields{"spec.updateStrategy.rollingUpdate.partition": int64(12)})
			return rollout(w, 2, nil)
		},
		"refused-batches": func(s *scene) *rolloutv1alpha1.RolloutTrait { return rollout(s.held(kruise, "CloneSet"), 4, 4) },
		"refused-size": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			return plan(rollout(s.held(kruise, "CloneSet"), 1, nil), size(8))
		},
		"refused-owner": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			w := s.held(kruise, "CloneSet")
			w.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Application", Name: "shop", UID: "app", Controller: ptr.To(true)}})
			return rollout(w, 1, nil)
		},
		"refused-nothing-asked": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			return rollout(s.workload("apps/v1", "Deployment", "web", 3, nil), 1, nil)
		},
		"refused-kind": func(s *scene) *rolloutv1alpha1.RolloutTrait {
			w := s.workload(birds, "Flock", "web", 3, nil)
			return rollout(w, 1, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{t: t}
			golden.Lines(t, name+".txt", s.foresee(make(s), nil).Lines(false))
		})
	}
}
