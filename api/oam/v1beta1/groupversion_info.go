// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind in this package.
const GroupName = "core.oam.dev"

// The kinds as they stand in manifests and owner references.
const (
	ApplicationKind         = "Application"
	ApplicationRevisionKind = "ApplicationRevision"
	ComponentDefinitionKind = "ComponentDefinition"
	TraitDefinitionKind     = "TraitDefinition"
	AppRolloutKind          = "AppRollout"
)

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta1"}

	// SchemeBuilder collects the kinds of this package for a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes the kinds of this package known to a scheme. It fails only when the scheme already has
	// another Go type for one of them.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource qualifies a resource name with this group, as errors and REST mappings want it.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Application{}, &ApplicationList{},
		&ApplicationRevision{}, &ApplicationRevisionList{},
		&ComponentDefinition{}, &ComponentDefinitionList{},
		&TraitDefinition{}, &TraitDefinitionList{},
		&AppRollout{}, &AppRolloutList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
