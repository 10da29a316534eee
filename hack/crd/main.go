// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var pieces embed.FS

// A piece of schema is added at each of the paths. A path names properties, with "[]" after a list for its items; the empty path is
// the root. Words are what the piece, a text/template, says otherwise for each kind.
type addition struct {
	piece string
	paths []string
	words map[string]string
}

// ended is true for a rollout whose status stands at the root of its kind and says that it has ended.
const ended = "has(oldSelf.status) && has(oldSelf.status.rollingState) && oldSelf.status.rollingState in ['rolloutSucceed', 'rolloutFailed']"

// additions by the file name of a CRD.
var additions = map[string][]addition{
	"apps.cafe.cloud.alipay.com_cafedeployments.yaml": {
		{piece: "podtemplate.yaml", paths: []string{"spec.template"}},
		{piece: "claimtemplates.yaml", paths: []string{"spec.volumeClaimTemplates"}},
		{piece: "unitreplicas.yaml", paths: []string{"spec.topology.unitReplicas"}},
		{piece: "labelselector.yaml", paths: []string{"spec.selector"}},
		{piece: "selectortemplate.yaml", paths: []string{"spec"}},
	},
	"apps.cafe.cloud.alipay.com_inplacesets.yaml": {
		{piece: "podtemplate.yaml", paths: []string{"spec.template"}},
		{piece: "labelselector.yaml", paths: []string{"spec.selector"}},
		{piece: "selectortemplate.yaml", paths: []string{"spec"}},
	},
	"apps.kruise.io_clonesets.yaml": {
		{piece: "podtemplate.yaml", paths: []string{"spec.template"}},
		{piece: "claimtemplates.yaml", paths: []string{"spec.volumeClaimTemplates"}},
		{piece: "labelselector.yaml", paths: []string{"spec.selector", "spec.updateStrategy.priorityStrategy.weightPriority[].matchSelector"}},
		{piece: "selectortemplate.yaml", paths: []string{"spec"}},
		{piece: "lifecyclehook.yaml", paths: []string{"spec.lifecycle.preDelete", "spec.lifecycle.inPlaceUpdate", "spec.lifecycle.preNormal"}},
	},
	"apps.kruise.io_statefulsets.yaml": {
		{piece: "namedmetadata.yaml", paths: []string{"metadata"}},
		{piece: "podtemplate.yaml", paths: []string{"spec.template"}},
		{piece: "resizableclaims.yaml", paths: []string{"spec"}},
		{piece: "labelselector.yaml", paths: []string{"spec.selector",
			"spec.updateStrategy.rollingUpdate.unorderedUpdate.priorityStrategy.weightPriority[].matchSelector"}},
		{piece: "selectortemplate.yaml", paths: []string{"spec"}},
		{piece: "reservedordinals.yaml", paths: []string{"spec.reserveOrdinals"}},
		{piece: "lifecyclehook.yaml", paths: []string{"spec.lifecycle.preDelete", "spec.lifecycle.inPlaceUpdate", "spec.lifecycle.preNormal"}},
	},
	"core.oam.dev_applications.yaml": {
		{piece: "namedmetadata.yaml", paths: []string{"metadata"}},
		{piece: "unservedapplication.yaml", paths: []string{"spec"}},
		{piece: "unservedcomponent.yaml", paths: []string{"spec.components[]"}},
		{piece: "hookmetadata.yaml", paths: []string{"spec.rolloutPlan.rolloutWebhooks[].metadata",
			"spec.rolloutPlan.rolloutBatches[].batchRolloutWebhooks[].metadata"}},
		{piece: "rolloutupdate.yaml", paths: []string{""}, words: map[string]string{
			"Another": "!has(self.spec.rolloutPlan) || !has(oldSelf.spec.rolloutPlan) || self.spec.components != oldSelf.spec.components",
			// What a rollout goes by is in the status from its first moment on; many applications with a plan are not rolled out at all.
			"Ended": "!has(oldSelf.status) || !has(oldSelf.status.rollout) || " +
				"oldSelf.status.rollout.rollingState in ['', 'rolloutSucceed', 'rolloutFailed']",
			"Single": "(!has(oldSelf.status.rollout.LastSourceAppRevision) || oldSelf.status.rollout.LastSourceAppRevision == '')",
			"Target": "components",
		}},
	},
	"core.oam.dev_approllouts.yaml": {
		{piece: "hookmetadata.yaml", paths: []string{"spec.rolloutPlan.rolloutWebhooks[].metadata",
			"spec.rolloutPlan.rolloutBatches[].batchRolloutWebhooks[].metadata"}},
		{piece: "rolloutupdate.yaml", paths: []string{""}, words: map[string]string{
			"Another": "self.spec.targetAppRevisionName != oldSelf.spec.targetAppRevisionName || " +
				"(has(self.spec.sourceAppRevisionName) ? self.spec.sourceAppRevisionName : '') != " +
				"(has(oldSelf.spec.sourceAppRevisionName) ? oldSelf.spec.sourceAppRevisionName : '') || " +
				"(has(self.spec.componentList) ? self.spec.componentList : []) != (has(oldSelf.spec.componentList) ? oldSelf.spec.componentList : [])",
			"Ended":  ended,
			"Single": "(!has(oldSelf.spec.sourceAppRevisionName) || oldSelf.spec.sourceAppRevisionName == '')",
			"Target": "targetAppRevisionName, sourceAppRevisionName or componentList",
		}},
	},
	"standard.oam.dev_rollouttraits.yaml": {
		{piece: "hookmetadata.yaml", paths: []string{"spec.rolloutPlan.rolloutWebhooks[].metadata",
			"spec.rolloutPlan.rolloutBatches[].batchRolloutWebhooks[].metadata"}},
		{piece: "rolloutupdate.yaml", paths: []string{""}, words: map[string]string{
			"Another": "self.spec.targetRef != oldSelf.spec.targetRef || " +
				"(has(self.spec.sourceRef) ? self.spec.sourceRef : []) != (has(oldSelf.spec.sourceRef) ? oldSelf.spec.sourceRef : [])",
			"Ended":  ended,
			"Single": "(!has(oldSelf.spec.sourceRef) || size(oldSelf.spec.sourceRef) == 0)",
			"Target": "targetRef or sourceRef",
		}},
	},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./hack/crd FOLDER")
		os.Exit(2)
	}
	for file, list := range additions {
		if err := complete(filepath.Join(os.Args[1], file), list); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func complete(file string, list []addition) error {
	var crd map[string]any
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading what controller-gen wrote: %w", err)
	}
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	schemas, err := schemasOf(crd)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	for _, schema := range schemas {
		for _, a := range list {
			if err := add(schema, a); err != nil {
				return fmt.Errorf("completing %s: %w", file, err)
			}
		}
	}
	text, err = yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.WriteFile(file, append([]byte("---\n"), text...), 0o644); err != nil {
		return fmt.Errorf("writing the completed CRD: %w", err)
	}
	return nil
}

// schemasOf returns the schema of every version of a CRD.
func schemasOf(crd map[string]any) ([]map[string]any, error) {
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	var schemas []map[string]any
	for _, v := range versions {
		version, _ := v.(map[string]any)
		wrapper, _ := version["schema"].(map[string]any)
		schema, ok := wrapper["openAPIV3Schema"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("version %v has no openAPIV3Schema", version["name"])
		}
		schemas = append(schemas, schema)
	}
	if len(schemas) == 0 {
		return nil, fmt.Errorf("there are no versions in it")
	}
	return schemas, nil
}

func add(schema map[string]any, a addition) error {
	text, err := write(a)
	if err != nil {
		return err
	}
	for _, path := range a.paths {
		var piece map[string]any
		if err := yaml.UnmarshalStrict(text, &piece); err != nil {
			return fmt.Errorf("reading %s: %w", a.piece, err)
		}
		node, err := find(schema, path)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", a.piece, path, err)
		}
		if err := merge(node, piece); err != nil {
			return fmt.Errorf("%s at %s: %w", a.piece, path, err)
		}
	}
	return nil
}

// write returns a piece in the words of the addition.
func write(a addition) ([]byte, error) {
	piece, err := template.New(a.piece).Option("missingkey=error").ParseFS(pieces, a.piece)
	if err != nil {
		return nil, fmt.Errorf("reading the piece: %w", err)
	}
	var text bytes.Buffer
	if err := piece.Execute(&text, a.words); err != nil {
		return nil, fmt.Errorf("writing the piece: %w", err)
	}
	return text.Bytes(), nil
}

func find(schema map[string]any, path string) (map[string]any, error) {
	node := schema
	if path == "" {
		return node, nil
	}
	for _, step := range strings.Split(path, ".") {
		name, list := strings.CutSuffix(step, "[]")
		properties, _ := node["properties"].(map[string]any)
		next, ok := properties[name].(map[string]any)
		if ok && list {
			next, ok = next["items"].(map[string]any)
		}
		if !ok {
			return nil, fmt.Errorf("there is no %s", step)
		}
		node = next
	}
	return node, nil
}

// rulesKey holds a list of CEL rules; lists under it add up.
const rulesKey = "x-kubernetes-validations"

func merge(node, piece map[string]any) error {
	for key, value := range piece {
		present, ok := node[key]
		if !ok {
			node[key] = value
			continue
		}
		switch value := value.(type) {
		case map[string]any:
			inner, ok := present.(map[string]any)
			if !ok {
				return fmt.Errorf("%s is not a map in the CRD", key)
			}
			if err := merge(inner, value); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		case []any:
			rules, ok := present.([]any)
			if !ok || key != rulesKey {
				return fmt.Errorf("%s is a list that the CRD already has", key)
			}
			node[key] = append(rules, value...)
		default:
			if present != value {
				return fmt.Errorf("%s is %v in the CRD, and %v in the piece", key, present, value)
			}
		}
	}
	return nil
}
