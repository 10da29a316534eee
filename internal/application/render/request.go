// SPDX-License-Identifier: Apache-2.0

package render

import "encoding/json"

// Request is all that the rendering of one component depends on.
type Request struct {
	Component Component `json:"component"`
	Context   Context   `json:"context"`
}

// Component is a component of an application with the definitions that it uses.
type Component struct {
	Name string `json:"name"`
	// Type is the name of the definition.
	Type string `json:"type"`
	// Properties are a JSON object; empty means none.
	Properties json.RawMessage `json:"properties,omitempty"`
	// APIVersion and Kind of the workload that the template has to make.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Template   string `json:"template"`
	// Traits in the order in which they are laid over the workload.
	Traits []Trait `json:"traits,omitempty"`
}

// Trait is a trait of a component with its definition.
type Trait struct {
	// Type is the name of the definition.
	Type string `json:"type"`
	// Properties are a JSON object; empty means none.
	Properties    json.RawMessage `json:"properties,omitempty"`
	AppliesTo     []string        `json:"appliesTo,omitempty"`
	ConflictsWith []string        `json:"conflictsWith,omitempty"`
	PodDisruptive bool            `json:"podDisruptive,omitempty"`
	Template      string          `json:"template"`
}

// Context is what templates read as `context`, besides the output so far.
type Context struct {
	// Name of the component.
	Name string `json:"name"`
	// AppName and Namespace of the application.
	AppName   string `json:"appName"`
	Namespace string `json:"namespace"`
	// AppRevision is the name of the application's revision, AppRevisionNum its number.
	AppRevision    string `json:"appRevision"`
	AppRevisionNum int64  `json:"appRevisionNum"`
	// Revision is the name of the component's revision.
	Revision string `json:"revision"`
}

// Reached is the definition whose template is evaluated.
type Reached struct {
	Definition string `json:"definition"`
	IsTrait    bool   `json:"isTrait,omitempty"`
}

// Result is what a component renders to. The same request gives the same result, in the same order.
type Result struct {
	// Workload is the object that runs the component.
	Workload map[string]any `json:"workload,omitempty"`
	// Extras are the other objects: those of the component first, then those of each trait; each by name.
	Extras []Extra `json:"extras,omitempty"`
	// Warnings do not keep the component from being deployed.
	Warnings []string `json:"warnings,omitempty"`
}

// Extra is an object beside the workload.
type Extra struct {
	// Name is the field of `outputs` that gave the object.
	Name string `json:"name"`
	// Trait is the type of the trait that gave it, empty for the component itself.
	Trait  string         `json:"trait,omitempty"`
	Object map[string]any `json:"object"`
}

// HealthRequest is all that the health of one component depends on.
type HealthRequest struct {
	// Component is its name, Type that of its definition.
	Component string `json:"component"`
	Type      string `json:"type"`
	// HealthPolicy and CustomStatus are CUE that reads parameter and context; empty means that there is none.
	HealthPolicy string          `json:"healthPolicy,omitempty"`
	CustomStatus string          `json:"customStatus,omitempty"`
	Properties   json.RawMessage `json:"properties,omitempty"`
	Context      Context         `json:"context"`
	// Output is the workload as it lives, Outputs are the other objects by their names in `outputs`.
	Output  map[string]any            `json:"output,omitempty"`
	Outputs map[string]map[string]any `json:"outputs,omitempty"`
}

// Health is what a definition says of a live workload.
type Health struct {
	// Healthy is what the policy says; true without one.
	Healthy bool `json:"healthy"`
	// Message is what the custom status says, or why the policy says nothing yet.
	Message string `json:"message,omitempty"`
}
