// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// application is an Application of one component, which a CloneSet runs: the definition that is shipped makes it.
type application struct{}

func (application) name() string            { return oamv1beta1.ApplicationKind }
func (application) controller() string      { return kindApplication }
func (application) list() client.ObjectList { return &oamv1beta1.ApplicationList{} }

// fresh names the component like the application, as it is also the name of the CloneSet.
func (k application) fresh(key client.ObjectKey, replicas int) client.Object {
	component := oamv1beta1.ApplicationComponent{Name: key.Name, Type: "cloneset", Properties: properties(map[string]any{
		"image": image(0), "cpu": "1m", "memory": "1Mi",
		"env": []any{map[string]any{"name": "REGION", "value": "eu"}, map[string]any{"name": "LOG_LEVEL", "value": "info"}},
	})}
	if replicas != 1 { // which is how many a component has that nobody scales
		component.Traits = []oamv1beta1.ApplicationTrait{{Type: "scaler", Properties: properties(map[string]any{"replicas": replicas})}}
	}
	return &oamv1beta1.Application{ObjectMeta: objectMeta(key), Spec: oamv1beta1.ApplicationSpec{Components: []oamv1beta1.ApplicationComponent{component}}}
}

// scale does nothing: all stay as large as they were made.
func (application) scale(client.Object, int) {}

func (application) release(o client.Object, image string, _ way, _ intstr.IntOrString) {
	component := &o.(*oamv1beta1.Application).Spec.Components[0]
	content := map[string]any{}
	if err := json.Unmarshal(component.Properties.Raw, &content); err != nil {
		panic(fmt.Sprintf("properties that the API server returned: %v", err)) // it refuses what is no object
	}
	content["image"] = image
	component.Properties = properties(content)
}

func (application) settled(o client.Object) bool {
	app := o.(*oamv1beta1.Application)
	ready := apimeta.FindStatusCondition(app.Status.Conditions, oamv1beta1.ConditionReady)
	return app.Status.ObservedGeneration >= app.Generation && app.Status.Phase == oamv1beta1.ApplicationRunning &&
		ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration >= app.Generation
}

func properties(content map[string]any) *runtime.RawExtension {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("properties of the bench's own: %v", err))
	}
	return &runtime.RawExtension{Raw: raw}
}

// applications are many Applications, which are made at once and get a new image at once.
type applications struct {
	kind application
	// size is how many there are, and pods how many pods each has.
	size, pods int
}

func (applications) key(namespace string, i int) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("application-%d", i)}
}

func (applications) changes() []change {
	return []change{
		{scenario: scenarioAppsCreate, makes: true, replicas: all},
		{scenario: scenarioAppsRelease, replicas: all, way: inPlace, unavailable: "100%"},
	}
}

// applicationsRound measures many Applications at once: they are created and get a new image; then the manager is started anew
// with all of them there, and left alone.
func (b *bench) applicationsRound(ctx context.Context) error {
	f := b.o.applicationsOf()
	if b.o.wants(scenarioCeiling) {
		b.ceiling(ctx, f.size*f.pods)
	}
	if !b.o.wants(scenarioAppsCreate, scenarioAppsRelease, scenarioAppsStartup, scenarioAppsRest) {
		return nil
	}
	if !b.o.foreignManager() {
		if err := installDefinitions(ctx, b.cluster.api, filepath.Join(b.repository, "config", "definitions.yaml")); err != nil {
			return err
		}
	}
	m, err := b.startManager(ctx)
	if err != nil {
		return err
	}
	for i, c := range f.changes() {
		wanted := b.o.wants(c.scenario)
		if i > 0 && !wanted {
			continue
		}
		r := b.applicationsRow(f, c.scenario)
		scenario := func() error { return b.applicationsChange(ctx, r, f, m, c, i) }
		if !wanted {
			if err := scenario(); err != nil {
				return fmt.Errorf("preparing %d applications: %w", f.size, err)
			}
		} else if !b.finish(r, scenario) {
			return context.Cause(ctx)
		}
	}
	return b.applicationsQuiet(ctx, f, m)
}

// applicationsQuiet measures a manager that has nothing to do but to look at what there is.
func (b *bench) applicationsQuiet(ctx context.Context, f applications, m *manager) error {
	if err := pause(ctx, calm); err != nil {
		return err
	}
	if b.o.wants(scenarioAppsStartup) && b.o.foreignManager() {
		b.remark("A manager that you started is not restarted: there is no scenario " + scenarioAppsStartup + ".")
	} else if b.o.wants(scenarioAppsStartup) {
		r := b.applicationsRow(f, scenarioAppsStartup)
		done := b.finish(r, func() error {
			s, err := b.restart(ctx, r, f.size)
			if err != nil {
				return err
			}
			m = s.manager
			r.set(rssMB, s.rss)
			if seconds, err := childCPU(m.pid); err == nil {
				r.set(renderCPU, seconds)
			}
			f.perApplication(r)
			return nil
		})
		if !done {
			return context.Cause(ctx)
		}
	}
	if b.o.wants(scenarioAppsRest) {
		r := b.applicationsRow(f, scenarioAppsRest)
		b.finish(r, func() error { return b.rest(ctx, r, m) })
	}
	return context.Cause(ctx)
}

func (b *bench) applicationsRow(f applications, scenario string) *row {
	r := b.newRow(f.size*f.pods, f.kind.name(), scenario)
	r.note("%d Applications without a rolloutPlan, each of one component that is a CloneSet of %d pods; the figures have what the CloneSets cost with it", f.size, f.pods)
	return r
}

// applicationsChange measures one change of all of them, and checks that it is what it claims to be.
func (b *bench) applicationsChange(ctx context.Context, r *row, f applications, m *manager, c change, tag int) error {
	before, err := b.podsWhere(ctx, "")
	if err != nil {
		return err
	}
	rendered, renderErr := childCPU(m.pid)
	err = b.measured(ctx, r, b.subject(m), func(ctx context.Context) error {
		err := parallel(ctx, b.o.workers, f.size, func(ctx context.Context, i int) error {
			return b.ask(ctx, f.kind, f.key(b.namespace, i), c, f.pods, image(tag))
		})
		for i := 0; i < f.size && err == nil; i++ { // most have settled when the first one has
			err = b.await(ctx, f.kind, f.key(b.namespace, i))
		}
		return err
	})
	if err != nil {
		return err
	}
	f.perApplication(r)
	if now, err := childCPU(m.pid); err == nil && renderErr == nil {
		r.set(renderCPU, now-rendered)
		r.set(renderMB, float64(childMemory(m.pid))/megabyte)
	}
	after, err := b.podsWhere(ctx, "")
	if err != nil {
		return err
	}
	return check(r, c, before, after, r.Pods, image(tag))
}

// perApplication notes what one application costs, with all that its CloneSet and its pods cost.
func (f applications) perApplication(r *row) {
	each := func(n float64) float64 { return n / float64(f.size) }
	if cpu, known := r.Figures[cpuTime]; known {
		r.set(cpuPerApplication, each(cpu*1000))
	}
	if r.Requests == nil {
		return
	}
	r.set(writesPerApplication, each(r.Figures[allWrites]))
	if reads, known := r.Figures[allReads]; known {
		r.set(readsPerApplication, each(reads))
	}
	of := func(what ...string) float64 {
		sum := 0
		for _, name := range what {
			sum += r.Requests[byManager][name].Requests
		}
		return float64(sum)
	}
	r.set(applicationStatuses, each(of("patch applications/status")))
	r.set(applicationRevisions, each(of("create applicationrevisions")))
	r.set(applicationWorkloads, each(of("create clonesets", "patch clonesets")))
}
