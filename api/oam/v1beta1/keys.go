// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels of the objects that an application is made of.
const (
	// LabelAppName is the name of the application, on its revisions and on everything that is deployed for it.
	LabelAppName = "app.oam.dev/name"
	// LabelComponent is the name of the component that an object is deployed for.
	LabelComponent = "app.oam.dev/component"
	// LabelAppRevision is the name of the ApplicationRevision that an object was last deployed from.
	LabelAppRevision = "app.oam.dev/appRevision"
	// LabelComponentRevision is the name of the component revision that an object was last deployed from.
	LabelComponentRevision = "app.oam.dev/revision"
	// LabelWorkloadType is the type of the component, on its workload.
	LabelWorkloadType = "workload.oam.dev/type"
	// LabelTraitType is the type of the trait, on the objects that the trait has added.
	LabelTraitType = "trait.oam.dev/type"
	// LabelTraitResource is the name of such an object in the outputs of its template.
	LabelTraitResource = "trait.oam.dev/resource"
	// LabelAppRevisionHash is the hash of what an ApplicationRevision holds: see Revision.RevisionHash.
	LabelAppRevisionHash = "app.oam.dev/app-revision-hash"
	// LabelComponentRevisionHash is the hash of the template that a component revision holds: see ComponentRevision.RevisionHash.
	LabelComponentRevisionHash = "app.oam.dev/component-revision-hash"
)

const (
	// AnnotationRolloutTemplate on an application with the value "true" has its revisions recorded only: an AppRollout deploys
	// them.
	AnnotationRolloutTemplate = "app.oam.dev/rollout-template"

	// AnnotationDescription on a definition says in a sentence what it is for.
	AnnotationDescription = "definition.oam.dev/description"
)

// FinalizerApplication on an application keeps it until a rollout of it has let go of its workloads.
const FinalizerApplication = "app.slipway.dev/release"

// SystemNamespace is where definitions are looked up that the namespace of an application does not have, unless the manager is
// told otherwise.
const SystemNamespace = "slipway-system"

// IsRolloutTemplate tells whether revisions of the application are recorded without being deployed.
func (a *Application) IsRolloutTemplate() bool {
	return a.Annotations[AnnotationRolloutTemplate] == "true"
}
