// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/localcluster/install"
	"slipway.dev/slipway/localcluster/nodes"
)

// What others do: people, nodes and the rest of the plane.

// owned are the living pods of the sets of one kind, by name, in a random order.
func (s *story) owned(ctx context.Context, t *tale) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := s.api.List(ctx, list, client.InNamespace(t.namespace)); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		ref := metav1.GetControllerOf(&list.Items[i])
		kind := t.kind
		if kind == Deployment {
			kind = "ReplicaSet"
		}
		if ref != nil && ref.Kind == kind && list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, &list.Items[i])
		}
	}
	s.random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return pods, nil
}

// toSome does something to a few pods of each kind, three times.
func toSome(do func(context.Context, *story, *corev1.Pod, int) error) func(context.Context, *story) error {
	return func(ctx context.Context, s *story) error {
		for round := range 3 {
			if !s.somewhere(ctx) {
				return ctx.Err()
			}
			for _, t := range s.tales {
				pods, err := s.owned(ctx, t)
				if err != nil {
					return err
				}
				for _, pod := range pods[:min(2, len(pods))] {
					if err := client.IgnoreNotFound(do(ctx, s, pod, round)); err != nil {
						return fmt.Errorf("pod %s: %w", pod.Name, err)
					}
				}
			}
		}
		return nil
	}
}

// evict goes through the API first, and then as a node does that has no room.
var evict = toSome(func(ctx context.Context, s *story, pod *corev1.Pod, round int) error {
	if round != 1 {
		return s.api.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
	}
	failed := pod.DeepCopy()
	failed.Status.Phase, failed.Status.Reason = corev1.PodFailed, "Evicted"
	return s.api.Status().Patch(ctx, failed, client.MergeFrom(pod))
})

var deletePods = toSome(func(ctx context.Context, s *story, pod *corev1.Pod, round int) error {
	if round != 1 || metav1.GetControllerOf(pod).Kind == "ReplicaSet" { // nobody there knows what it is to be chosen
		return s.api.Delete(ctx, pod)
	}
	chosen := pod.DeepCopy()
	chosen.Labels["apps.kruise.io/specified-delete"] = "true"
	return s.api.Patch(ctx, chosen, client.MergeFrom(pod))
})

const finalizer = "slipway.dev/fault-campaign"

// stuck puts a finalizer on pods and deletes them; they stay for a while.
func stuck(ctx context.Context, s *story) error {
	var held []*corev1.Pod
	err := toSome(func(ctx context.Context, s *story, pod *corev1.Pod, _ int) error {
		holds := pod.DeepCopy()
		holds.Finalizers = append(holds.Finalizers, finalizer)
		if err := s.api.Patch(ctx, holds, client.MergeFrom(pod)); err != nil {
			return err
		}
		held = append(held, holds)
		return s.api.Delete(ctx, holds)
	})(ctx, s)
	pause(ctx, 3*time.Second)
	for _, pod := range held {
		errs := s.until(ctx, patience, func(ctx context.Context) error {
			now := &corev1.Pod{}
			if err := s.api.Get(ctx, client.ObjectKeyFromObject(pod), now); err != nil || now.UID != pod.UID {
				return client.IgnoreNotFound(err)
			}
			free := now.DeepCopy()
			free.Finalizers = slices.DeleteFunc(free.Finalizers, func(f string) bool { return f == finalizer })
			return client.IgnoreNotFound(s.api.Patch(ctx, free, client.MergeFrom(now)))
		})
		err = errors.Join(err, errs)
	}
	return err
}

// loseNode cuts a node off that has pods of each kind, until the plane has given it up.
func loseNode(ctx context.Context, s *story) error {
	list := &corev1.NodeList{}
	if err := s.api.List(ctx, list, client.MatchingLabels{nodes.LabelSimulated: "true"}); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	lost := list.Items[s.random.IntN(len(list.Items))].DeepCopy()
	if err := s.cut(ctx, lost.Name, "true"); err != nil {
		return err
	}
	err := s.until(ctx, patience, func(ctx context.Context) error {
		now := &corev1.Node{}
		if err := s.api.Get(ctx, client.ObjectKeyFromObject(lost), now); err != nil {
			return err
		}
		for _, c := range now.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
				return nil
			}
		}
		return fmt.Errorf("node %s is not given up", lost.Name)
	})
	pause(ctx, 3*time.Second)
	return errors.Join(err, s.cut(ctx, lost.Name, ""))
}

// cut silences a node, or lets it speak again.
func (s *story) cut(ctx context.Context, name, how string) error {
	node := &corev1.Node{}
	if err := s.api.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return fmt.Errorf("looking for node %s: %w", name, err)
	}
	changed := node.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[nodes.AnnotationCut] = how
	if how == "" {
		delete(changed.Annotations, nodes.AnnotationCut)
	}
	if err := s.api.Patch(ctx, changed, client.MergeFrom(node)); err != nil {
		return fmt.Errorf("changing node %s: %w", name, err)
	}
	return nil
}

const quotaName = "fault-campaign"

// quota leaves room for half of the pods that are to be made, and none for those that are to be made again.
func quota(ctx context.Context, s *story) error {
	for _, t := range s.tales {
		list := &corev1.PodList{}
		if err := s.api.List(ctx, list, client.InNamespace(t.namespace)); err != nil {
			return fmt.Errorf("listing pods: %w", err)
		}
		room := max(len(list.Items)-1, 6)
		made := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: quotaName},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(room), resource.DecimalSI)}},
		}
		if err := s.api.Create(ctx, made); err != nil {
			return fmt.Errorf("making a quota: %w", err)
		}
		err := s.until(ctx, patience, func(ctx context.Context) error {
			if err := s.api.Get(ctx, client.ObjectKeyFromObject(made), made); err != nil {
				return err
			}
			if made.Status.Hard == nil {
				return errors.New("the quota is not in force")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func raiseQuota(ctx context.Context, s *story) error {
	pause(ctx, 5*time.Second)
	for _, t := range s.tales {
		now := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: quotaName}}
		if err := s.api.Get(ctx, client.ObjectKeyFromObject(now), now); err != nil {
			return fmt.Errorf("looking for the quota: %w", err)
		}
		raised := now.DeepCopy()
		raised.Spec.Hard[corev1.ResourcePods] = resource.MustParse("100")
		if err := s.api.Patch(ctx, raised, client.MergeFrom(now)); err != nil {
			return fmt.Errorf("raising the quota: %w", err)
		}
	}
	// It is removed only when the sets are as they shall be, or the removal would be what helps.
	err := s.until(ctx, patience, func(ctx context.Context) error {
		for _, t := range s.tales {
			if lacks := s.lacks(ctx, t); lacks != "" {
				return errors.New(lacks)
			}
		}
		return nil
	})
	for _, t := range s.tales {
		err = errors.Join(err, s.api.Delete(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: quotaName}}))
	}
	return err
}

// upgradeDefinitions gives the CRDs another field and column, and takes them away again.
func upgradeDefinitions(ctx context.Context, s *story) error {
	objects, err := install.Read(filepath.Join(s.repository, "config", "install.yaml"))
	if err != nil {
		return err
	}
	for round := range 4 {
		if !s.somewhere(ctx) {
			return ctx.Err()
		}
		for _, object := range install.Definitions(objects) {
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
				return fmt.Errorf("reading CRD %s: %w", object.GetName(), err)
			}
			if err := s.applyDefinition(ctx, definition, round%2 == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *story) applyDefinition(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition, more bool) error {
	if more {
		for i := range definition.Spec.Versions {
			v := &definition.Spec.Versions[i]
			spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
			spec.Properties["faultCampaign"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			v.Schema.OpenAPIV3Schema.Properties["spec"] = spec
			v.AdditionalPrinterColumns = append(v.AdditionalPrinterColumns, apiextensionsv1.CustomResourceColumnDefinition{
				Name: "Campaign", Type: "string", JSONPath: ".spec.faultCampaign",
			})
		}
	}
	return s.until(ctx, patience, func(ctx context.Context) error {
		now := &apiextensionsv1.CustomResourceDefinition{}
		if err := s.api.Get(ctx, client.ObjectKeyFromObject(definition), now); err != nil {
			return err
		}
		now.Spec = definition.Spec
		return s.api.Update(ctx, now)
	})
}
