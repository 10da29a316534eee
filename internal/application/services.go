// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/application/render"
)

// services says how each component is: by what its definition says or, when that says nothing, by whether its pods are on its
// revision and available.
func (r *Reconciler) services(ctx context.Context, app *oamv1beta1.Application, latest *oamv1beta1.ApplicationRevision, w *plan.World, told *telling) {
	told.status.Services = nil
	healthy := 0
	for i := range w.Components {
		c := &w.Components[i]
		id := c.Workload.GroupVersionKind()
		service := oamv1beta1.ApplicationService{Name: c.Name, WorkloadDefinition: oamv1beta1.WorkloadGVK{APIVersion: id.GroupVersion().String(), Kind: id.Kind}}
		live := plan.Current(c)
		if live == nil && app.IsRolloutTemplate() {
			continue // nobody has asked for it yet
		}
		switch {
		case live == nil:
			service.Message = "is not deployed yet"
		case c.Driven:
			service.Healthy, service.Message = c.Healthy, c.Waits
		default:
			service.Healthy = true // nothing is known of the kind but that it is there
		}
		if live != nil {
			r.judge(ctx, app, latest, c, live, &service, told)
		}
		told.status.Services = append(told.status.Services, service)
		if service.Healthy {
			healthy++
		}
	}
	told.status.HealthyServices = fmt.Sprintf("%d/%d", healthy, len(w.Components))
}

// judge has the definition of a component say how it is, where it has something to say.
func (r *Reconciler) judge(ctx context.Context, app *oamv1beta1.Application, latest *oamv1beta1.ApplicationRevision, c *plan.Component,
	live *unstructured.Unstructured, service *oamv1beta1.ApplicationService, told *telling) {
	var component *oamv1beta1.ApplicationComponent
	for i := range latest.Spec.Application.Spec.Components {
		if latest.Spec.Application.Spec.Components[i].Name == c.Name {
			component = &latest.Spec.Application.Spec.Components[i]
		}
	}
	if component == nil {
		return
	}
	definition := latest.Spec.ComponentDefinitions[component.Type]
	if says := definition.Spec.Status; says == nil || says.HealthPolicy == "" && says.CustomStatus == "" {
		return
	}
	outputs := map[string]map[string]any{}
	for i := range latest.Spec.ComponentRevisions {
		if rendered := &latest.Spec.ComponentRevisions[i]; rendered.Name == c.Name {
			for j := range rendered.Resources {
				if c.LiveExtras[j] != nil {
					outputs[rendered.Resources[j].Name] = c.LiveExtras[j].Object
				}
			}
		}
	}
	about := render.Context{
		Name: c.Name, AppName: app.Name, Namespace: app.Namespace, AppRevision: latest.Name, AppRevisionNum: latest.Spec.Revision, Revision: c.Revision,
	}
	health, err := r.Renderer.Judge(ctx, render.NewHealthRequest(*component, definition, about, live.Object, outputs))
	switch problems := render.ProblemsOf(err); {
	case problems != nil:
		service.Healthy, service.Message = false, problems.Error()
		return
	case err != nil: // a machine that is busy keeps nothing else from being told
		service.Healthy, service.Message = false, "it is not known how it is: "+err.Error()
		told.failed = fmt.Errorf("judging component %s: %w", c.Name, err)
		return
	}
	if definition.Spec.Status.HealthPolicy != "" {
		service.Healthy = health.Healthy
	}
	if health.Message != "" {
		service.Message = health.Message
	}
}
