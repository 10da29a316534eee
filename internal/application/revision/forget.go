// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// Users are what may use revisions of an application.
type Users struct {
	Application *oamv1beta1.Application
	// Rollouts are all AppRollouts of the namespace, finished ones and those that are being deleted too.
	Rollouts []*oamv1beta1.AppRollout
	// Deployed are the labels of the objects that are deployed for the application.
	Deployed []map[string]string
}

// Used are the names of revisions in use.
type Used struct {
	Application, Component map[string]bool
}

// Used returns the names of the revisions that are in use. Some may be of other applications.
func (u Users) Used() Used {
	used := Used{Application: map[string]bool{}, Component: map[string]bool{}}
	if latest := u.Application.Status.LatestRevision; latest != nil {
		used.Application[latest.Name] = true
	}
	if rollout := u.Application.Status.Rollout; rollout != nil {
		used.Application[rollout.LastTargetAppRevision] = true
		used.Application[rollout.LastSourceAppRevision] = true
	}
	for _, rollout := range u.Rollouts {
		for _, name := range []string{rollout.Spec.TargetAppRevisionName, rollout.Spec.SourceAppRevisionName,
			rollout.Status.LastTargetAppRevision, rollout.Status.LastSourceAppRevision} {
			used.Application[name] = true
		}
	}
	for _, labels := range u.Deployed {
		used.Application[labels[oamv1beta1.LabelAppRevision]] = true
		used.Component[labels[oamv1beta1.LabelComponentRevision]] = true
	}
	return used
}

// Expired returns the revisions that history no longer needs, lowest number first: those beyond the newest limit of them that
// are neither in use nor the latest. Own are the revisions that the application controls; those that are being deleted already
// do not count. A negative limit counts as 0.
func Expired(app string, own []*oamv1beta1.ApplicationRevision, used Used, limit int) []*oamv1beta1.ApplicationRevision {
	ordered := slices.DeleteFunc(sorted(app, own), func(r *oamv1beta1.ApplicationRevision) bool { return r.DeletionTimestamp != nil })
	var idle []*oamv1beta1.ApplicationRevision
	for i, revision := range ordered {
		latest := i == len(ordered)-1
		if !latest && !used.Application[revision.Name] {
			idle = append(idle, revision)
		}
	}
	return idle[:max(len(idle)-max(limit, 0), 0)]
}

// ExpiredComponents returns the component revisions that nothing needs any more, by name: those that are neither in use, nor in a
// revision of the application, nor the newest of a component that it has. The newest one may have been made for a revision that
// does not exist yet. Stored are the component revisions that the application controls, own its revisions, also those that are
// about to go: what only they have goes after them.
func ExpiredComponents(app *oamv1beta1.Application, stored []*appsv1.ControllerRevision, own []*oamv1beta1.ApplicationRevision, used Used) []*appsv1.ControllerRevision {
	needed, newest, has := map[string]bool{}, map[string]int64{}, map[string]bool{}
	for i := range app.Spec.Components {
		has[app.Spec.Components[i].Name] = true
	}
	for _, revision := range own {
		for i := range revision.Spec.ComponentRevisions {
			needed[revision.Spec.ComponentRevisions[i].Revision] = true
		}
	}
	for _, revision := range stored {
		component := revision.Labels[oamv1beta1.LabelComponent]
		newest[component] = max(newest[component], revision.Revision)
	}
	var expired []*appsv1.ControllerRevision
	for _, revision := range stored {
		component := revision.Labels[oamv1beta1.LabelComponent]
		isNewest := has[component] && revision.Revision == newest[component]
		if !needed[revision.Name] && !used.Component[revision.Name] && !isNewest && revision.DeletionTimestamp == nil {
			expired = append(expired, revision)
		}
	}
	slices.SortFunc(expired, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Name, b.Name) })
	return expired
}
