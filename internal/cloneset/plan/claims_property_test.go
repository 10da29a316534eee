// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// anyClaims is a set with pods and claims in every combination of states.
func anyClaims(t *rapid.T) *scene {
	b := builders.CloneSet("web").Replicas(int32(rapid.IntRange(0, 5).Draw(t, "replicas"))).MaxUnavailable("2")
	if rapid.Bool().Draw(t, "in place") {
		b.InPlace()
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"data", "log"}), 0, 2, rapid.ID[string]).Draw(t, "templates") {
		b.Claim(name)
	}
	b.With(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.ScaleStrategy.DisablePVCReuse = rapid.Bool().Draw(t, "no reuse")
	})
	s := sceneOf(b, v1, v2)
	s.world.Owed, s.world.Prepared, s.world.Unseen = map[types.UID]bool{}, map[string]bool{}, map[string]*corev1.Pod{}
	for _, id := range []string{"a", "b", "c", "d"} {
		state := rapid.SampledFrom([]string{"none", "ready", "unready", "chosen", "failed", "terminating", "dead", "unseen"}).Draw(t, "pod "+id)
		change := map[string]func(*builders.PodBuilder){
			"ready": func(*builders.PodBuilder) {}, "unready": notReady, "chosen": chosen, "failed": failed,
			"terminating": terminatingSince(0), "dead": terminatingSince(time.Minute),
		}[state]
		switch {
		case change != nil:
			s.pod(id, rapid.IntRange(0, 1).Draw(t, "revision"), owns("data", "log"), change)
		case state == "unseen":
			s.world.Unseen["web-"+id] = builders.OwnedPod(s.set, id, "x").Build()
		}
		for _, template := range []string{"data", "log"} {
			switch rapid.SampledFrom([]string{"none", "bound", "doomed", "owed", "prepared"}).Draw(t, template+" "+id) {
			case "bound":
				s.claim(template, id)
			case "doomed":
				s.claim(template, id, doomed)
			case "owed":
				s.claim(template, id)
				s.world.Owed[types.UID(template+"-web-"+id+"-uid")] = true
			case "prepared":
				s.claim(template, id)
				s.world.Prepared["web-"+id] = true
			}
		}
	}
	return s
}

func TestNoIDIsSharedAndNoClaimInUseGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyClaims(t)
		next := plan.Next(s.world, now)
		deleted, ids := map[string]bool{}, map[string]bool{}
		for _, p := range s.world.Pods {
			ids[p.Labels[kruisev1alpha1.LabelInstanceID]] = true
		}
		claims := map[string]*corev1.PersistentVolumeClaim{}
		for _, c := range s.world.Claims {
			claims[c.Name] = c
		}
		gone := map[string]bool{}
		for _, each := range next.Steps {
			switch each := each.(type) {
			case step.DeletePod:
				deleted[each.Name] = true
			case step.DeleteClaim:
				gone[each.Name] = true
				for _, p := range s.world.Pods {
					if !pod.IsTerminating(p) && mountsClaim(p, each.Name) && (!deleted[p.Name] || each.Pod != p.Name) {
						t.Errorf("%s goes while pod %s uses it", each.Name, p.Name)
					}
				}
				if s.world.Unseen[each.Pod] != nil {
					t.Errorf("%s goes although its pod %s exists", each.Name, each.Pod)
				}
			case step.GiveClaim:
				for _, p := range s.world.Pods {
					if pod.IsActive(p) && mountsClaim(p, each.Name) {
						t.Errorf("%s is given away while pod %s is active", each.Name, p.Name)
					}
				}
			case step.CreateClaim:
				if claims[each.Claim.Name] != nil {
					t.Errorf("claim %s is created and exists", each.Claim.Name)
				}
				claims[each.Claim.Name] = each.Claim
			case step.CreatePod:
				id := each.Pod.Labels[kruisev1alpha1.LabelInstanceID]
				if ids[id] {
					t.Errorf("id %s is used twice", id)
				}
				ids[id] = true
				for _, template := range s.set.Spec.VolumeClaimTemplates {
					c := claims[template.Name+"-"+each.Pod.Name]
					if c == nil || c.DeletionTimestamp != nil || gone[c.Name] {
						t.Errorf("pod %s is created without a claim that stays: %v", each.Pod.Name, c)
					}
				}
			}
		}
		if again := plan.Next(s.world, now); !slices.Equal(told(next), told(again)) {
			t.Errorf("the same world led to two plans: %s, then %s", strings.Join(told(next), ", "), strings.Join(told(again), ", "))
		}
	})
}

func mountsClaim(p *corev1.Pod, name string) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name
	})
}
