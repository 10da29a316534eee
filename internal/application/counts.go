// SPDX-License-Identifier: Apache-2.0

package application

import (
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// onlyCounts tells whether a status differs from the one before in nothing but numbers of pods, and in what is said of them while
// conditions and their reasons, health, and the states of the rollout are as they were. Nothing is decided from these.
func onlyCounts(before, after *oamv1beta1.ApplicationStatus) bool {
	if len(before.Services) != len(after.Services) || (before.Rollout == nil) != (after.Rollout == nil) {
		return false
	}
	same := after.DeepCopy()
	unsaid(before.Conditions, same.Conditions)
	for i := range same.Services {
		same.Services[i].Message = before.Services[i].Message
	}
	if r, was := same.Rollout, before.Rollout; r != nil {
		r.UpgradedReplicas, r.UpgradedReadyReplicas, r.RevertedReplicas = was.UpgradedReplicas, was.UpgradedReadyReplicas, was.RevertedReplicas
		r.Reached, r.LastProgressTime, r.StillSeconds, r.LastInstanceTime = was.Reached, was.LastProgressTime, was.StillSeconds, was.LastInstanceTime
		r.Message = was.Message
		unsaid(was.Conditions, r.Conditions)
	}
	return equality.Semantic.DeepEqual(before, same)
}

// unsaid gives conditions the messages that they had before.
func unsaid(before, conditions []metav1.Condition) {
	for i := range conditions {
		if was := apimeta.FindStatusCondition(before, conditions[i].Type); was != nil {
			conditions[i].Message = was.Message
		}
	}
}
