// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

var componentNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// AppRollout is what is wrong with an AppRollout, by the rules of its API; size is how many pods its workloads have, nil when that is
// not known.
func AppRollout(r *oamv1beta1.AppRollout, size *int) []Finding {
	var found []Finding
	name(r.ObjectMeta, &found)
	spec := place{"spec", &found}
	target, source := r.Spec.TargetAppRevisionName, r.Spec.SourceAppRevisionName
	spec.at("targetAppRevisionName").text(target, 253, objectNames, "shop-v2")
	if source != "" {
		spec.at("sourceAppRevisionName").text(source, 253, objectNames, "shop-v1")
	}
	if source != "" && source == target {
		spec.at("sourceAppRevisionName").report(source, "it is another revision than targetAppRevisionName; leave it out for a scale")
	}
	components := spec.at("componentList")
	components.atMost(len(r.Spec.ComponentList), 50)
	for i, component := range r.Spec.ComponentList {
		components.item(i).text(component, 52, componentNames, "cart")
	}
	if source == "" && r.Spec.RolloutPlan.TargetSize == nil {
		spec.at("rolloutPlan.targetSize").report(nil, "is missing: without a sourceAppRevisionName it is a scale, and this is the size that it goes to")
	}
	checkPlan(spec.at("rolloutPlan"), &r.Spec.RolloutPlan)
	if len(found) == 0 {
		_, wrong := RevisionGoals(&r.Spec.RolloutPlan, source != "", size)
		found = append(found, wrong...)
	}
	return found
}

// Application is what is wrong with the rolloutPlan of an application; the rest of it is for app render to check. Size is how many pods
// its components have, nil when that is not known.
func Application(app *oamv1beta1.Application, size *int) []Finding {
	var found []Finding
	name(app.ObjectMeta, &found)
	plan := app.Spec.RolloutPlan
	if plan == nil {
		return found
	}
	checkPlan(place{"spec.rolloutPlan", &found}, plan)
	if len(found) == 0 {
		_, wrong := RevisionGoals(plan, true, size)
		found = append(found, wrong...)
	}
	return found
}

// RevisionGoals does the arithmetic between revisions, of which updates says that they have different pods. In place a targetSize is
// the size that there is, and of two workloads the one that there will be.
func RevisionGoals(plan *rolloutv1alpha1.RolloutPlan, updates bool, size *int) (Arithmetic, []Finding) {
	spec := &rolloutv1alpha1.RolloutTraitSpec{RolloutPlan: *plan}
	if updates {
		spec.SourceRef = make([]rolloutv1alpha1.WorkloadReference, 1)
	}
	return Goals(spec, size)
}
