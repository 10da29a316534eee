// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clusterScoped are the kinds of Kubernetes itself that belong to no namespace, by group.
var clusterScoped = map[string]string{
	"":                             " ComponentStatus Namespace Node PersistentVolume ",
	"admissionregistration.k8s.io": " MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration ",
	"apiextensions.k8s.io":         " CustomResourceDefinition ",
	"apiregistration.k8s.io":       " APIService ",
	"certificates.k8s.io":          " CertificateSigningRequest ClusterTrustBundle ",
	"flowcontrol.apiserver.k8s.io": " FlowSchema PriorityLevelConfiguration ",
	"networking.k8s.io":            " IPAddress IngressClass ServiceCIDR ",
	"node.k8s.io":                  " RuntimeClass ",
	"rbac.authorization.k8s.io":    " ClusterRole ClusterRoleBinding ",
	"resource.k8s.io":              " DeviceClass ResourceSlice ",
	"scheduling.k8s.io":            " PriorityClass ",
	"storage.k8s.io":               " CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass ",
}

// ScopeWithoutCluster is the Scope of who has no cluster to ask: it knows the kinds of Kubernetes itself, and takes all others for
// kinds that live in a namespace.
func ScopeWithoutCluster(kind schema.GroupVersionKind) (bool, error) {
	return !strings.Contains(clusterScoped[kind.Group], " "+kind.Kind+" "), nil
}
