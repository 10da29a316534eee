// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/utils/ptr"
)

// auditPolicy writes every request down, and of writes also what was asked for.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: None
  nonResourceURLs: ["*"]
- level: Request
  verbs: [create, patch, update]
  resources:
  - {group: "", resources: [pods, persistentvolumeclaims]}
  - {group: apps, resources: [controllerrevisions, deployments, statefulsets, daemonsets]}
  - {group: apps.cafe.cloud.alipay.com, resources: [cafedeployments]}
- level: Metadata
`

// right is one thing that a role allows: a verb on a resource, in one namespace or in all, of one name or of any.
type right struct{ namespace, verb, group, resource, name string }

func (r right) String() string {
	said := strings.TrimSpace(r.verb + " " + strings.TrimPrefix(r.group+"/"+r.resource, "/") + " " + r.name)
	if r.namespace != "" {
		said += " in " + r.namespace
	}
	return said
}

// rights are all that the manifest gives the manager.
func rights(t *testing.T) map[right]bool {
	t.Helper()
	all := map[right]bool{}
	for _, object := range manifest(t, "config/install.yaml") {
		if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		var role rbacv1.Role // a ClusterRole has its rules in the same place
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						for _, name := range names {
							all[right{object.GetNamespace(), verb, group, resource, name}] = true
						}
					}
				}
			}
		}
	}
	return all
}

// record is what the API server wrote down about the manager.
type record struct {
	used   map[right]bool
	denied []string
}

// readRecord reads the audit log from an offset on. Rights that the manifest binds to a namespace or a name are told with it.
func readRecord(t *testing.T, from int64, given map[right]bool) record {
	t.Helper()
	file, err := os.Open(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	found := record{used: map[right]bool{}}
	for in := bufio.NewReader(file); ; {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return found // what is left of the line is still being written
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(line, []byte(manager)) {
			continue
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		found.add(&event, given)
	}
}

func (r *record) add(event *auditv1.Event, given map[right]bool) {
	ref := event.ObjectRef
	if event.ImpersonatedUser == nil || event.ImpersonatedUser.Username != manager || ref == nil {
		return
	}
	// The second is denied by admission, for want of a right all the same.
	if event.Annotations["authorization.k8s.io/decision"] == "forbid" || event.ResponseStatus != nil && wantsOwnerRight(event.ResponseStatus.Message) {
		r.denied = append(r.denied, fmt.Sprintf("%s %s %s/%s: %s", event.Verb, event.RequestURI, ref.Namespace, ref.Name, event.Annotations["authorization.k8s.io/reason"]))
		return
	}
	resource := ref.Resource
	if ref.Subresource != "" {
		resource += "/" + ref.Subresource
	}
	verbs := []string{event.Verb}
	if event.Verb == "patch" && event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusCreated {
		verbs = append(verbs, "create") // what is applied and not there yet is created, and the API server asks for both rights
	}
	for _, verb := range verbs {
		for _, namespace := range []string{"", ref.Namespace} {
			for _, name := range []string{"", ref.Name} {
				if used := (right{namespace, verb, ref.APIGroup, resource, name}); given[used] {
					r.used[used] = true
				}
			}
		}
	}
	for _, implied := range ownerRights(event) {
		r.used[implied] = true
	}
}

// wantsOwnerRight tells whether the API server has refused a write for want of a right about owners.
func wantsOwnerRight(answer string) bool {
	return strings.Contains(answer, "blockOwnerDeletion") || strings.Contains(answer, "cannot set an ownerRef")
}

// ownerRights are the rights that a write of owner references needs: no request is made for them. The API server asks for the
// right to the finalizers of an owner whose deletion is blocked, and for the right to delete an object that is there and gets
// another owner, as that can be a way to have it deleted.
func ownerRights(event *auditv1.Event) []right {
	if event.RequestObject == nil {
		return nil
	}
	var written struct {
		Metadata struct {
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if json.Unmarshal(event.RequestObject.Raw, &written) != nil {
		return nil // a patch of another shape has no owners
	}
	var needed []right
	if written.Metadata.OwnerReferences != nil && event.Verb == "patch" {
		needed = append(needed, right{verb: "delete", group: event.ObjectRef.APIGroup, resource: event.ObjectRef.Resource})
	}
	for _, owner := range written.Metadata.OwnerReferences {
		if group, _, ours := strings.Cut(owner.APIVersion, "/"); ours && ptr.Deref(owner.BlockOwnerDeletion, false) {
			needed = append(needed, right{verb: "update", group: group, resource: strings.ToLower(owner.Kind) + "s/finalizers"})
		}
	}
	return needed
}

// unused are the given rights that the record does not show, sorted.
func (r *record) unused(given map[right]bool) []string {
	var left []string
	for each := range given {
		if !r.used[each] {
			left = append(left, each.String())
		}
	}
	slices.Sort(left)
	return left
}
