// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MetricTemplate says where a number comes from: a server, and a question to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metrictemplates
// +kubebuilder:printcolumn:name="PROVIDER",type=string,JSONPath=`.spec.provider.type`,description="Kind of server"
// +kubebuilder:printcolumn:name="ADDRESS",type=string,JSONPath=`.spec.provider.address`,description="Where it is"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
type MetricTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MetricTemplateSpec `json:"spec"`
}

// MetricTemplateList is a list of MetricTemplates.
//
// +kubebuilder:object:root=true
type MetricTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MetricTemplate `json:"items"`
}

// MetricTemplateSpec is what the user wants.
type MetricTemplateSpec struct {
	// Provider is the server that is asked.
	Provider MetricProvider `json:"provider"`

	// Query is a Go template. It may use {{ .Namespace }} and {{ .Name }} of the rollout, {{ .Target }}, the name of the
	// workload, {{ .TargetRevision }}, what its new pods carry as a label (pod-template-hash or controller-revision-hash), {{ .Batch }},
	// from 0, and {{ .Interval }}. The last two are numbers; the others are
	// filled in as quoted text, or as a part of it within quotes. For prometheus it is PromQL, which must give one number; for
	// web it is a JSONPath into the answer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Query string `json:"query"`
}

// MetricProvider is a server of numbers.
type MetricProvider struct {
	// Type of the server.
	Type MetricProviderType `json:"type"`

	// Address is its base URL, or for web the URL of the document: http or https.
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ''",message="must be a URL with http or https and a host, such as http://prometheus.monitoring:9090"
	// +kubebuilder:validation:MaxLength=2048
	Address string `json:"address"`

	// SecretRef names a Secret in the namespace of the template, with "username" and "password", or with "token". Default:
	// none.
	// +kubebuilder:validation:XValidation:rule="has(self.name) && 0 < size(self.name) && size(self.name) <= 253",message="must name a Secret, in up to 253 characters",fieldPath=".name",reason=FieldValueRequired
	// +optional
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`

	// InsecureSkipVerify accepts any certificate. Default false.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// MetricProviderType is a kind of server.
//
// +kubebuilder:validation:Enum=prometheus;web
type MetricProviderType string

const (
	// PrometheusProvider answers PromQL.
	PrometheusProvider MetricProviderType = "prometheus"
	// WebProvider answers with a JSON document.
	WebProvider MetricProviderType = "web"
)
