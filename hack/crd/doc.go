// SPDX-License-Identifier: Apache-2.0

// Command crd adds to the CRDs that controller-gen wrote what markers on Go types cannot say: the schema of fields whose
// Go type is not ours (pod templates, claim templates, label selectors), rules that need such a schema, and rules that several
// kinds share.
//
// Each piece is a YAML file in this folder, an OpenAPI schema without the node that it is added to. Adding means: maps
// are merged, CEL rules are appended, and a value that is already there must not be contradicted, so that every fact
// has one home. A piece is a text/template; what differs by kind are the words that its addition gives it.
//
// Usage, from the root of the repository: go run ./hack/crd FOLDER, where FOLDER is the one controller-gen wrote to.
package main
