// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	shipped "slipway.dev/slipway/localcluster/install"
	"slipway.dev/slipway/test/integration/plane"
)

const namespace = "slipway-system"

var (
	cluster *rest.Config
	// binaries is the folder that kubectl is in.
	binaries string
	// auditLog is where the API server writes down who asked for what.
	auditLog string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run runs the tests on a plane that writes an audit log, and that asks for the right to an owner's finalizers where a
// write blocks the deletion of the owner.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "install")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	auditLog = filepath.Join(dir, "audit.log")
	flags := map[string]string{
		"audit-policy-file": policy, "audit-log-path": auditLog, "enable-admission-plugins": "OwnerReferencesPermissionEnforcement",
	}
	return plane.RunWith(m, flags, func(p *plane.Plane) { cluster, binaries = p.Config, p.Binaries })
}

func TestInstallingTwiceIsTheSameAsOnce(t *testing.T) {
	c := newClient(t)
	// The plane brings its own CRDs; what is tried here are those of the manifest.
	for _, name := range []string{"cafedeployments.apps.cafe.cloud.alipay.com", "inplacesets.apps.cafe.cloud.alipay.com",
		"clonesets.apps.kruise.io", "statefulsets.apps.kruise.io", "applicationrevisions.core.oam.dev", "applications.core.oam.dev",
		"approllouts.core.oam.dev", "componentdefinitions.core.oam.dev", "traitdefinitions.core.oam.dev", "metrictemplates.standard.oam.dev", "rollouttraits.standard.oam.dev"} {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := c.Delete(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the plane's CRD is gone", func() error {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(crd), crd); !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("it is there"), err)
			}
			return nil
		})
	}

	first := install(t, c)
	waitForCRDs(t, c)
	want := []string{
		"Namespace slipway-system",
		"CustomResourceDefinition cafedeployments.apps.cafe.cloud.alipay.com",
		"CustomResourceDefinition inplacesets.apps.cafe.cloud.alipay.com",
		"CustomResourceDefinition clonesets.apps.kruise.io",
		"CustomResourceDefinition statefulsets.apps.kruise.io",
		"CustomResourceDefinition applicationrevisions.core.oam.dev",
		"CustomResourceDefinition applications.core.oam.dev",
		"CustomResourceDefinition approllouts.core.oam.dev",
		"CustomResourceDefinition componentdefinitions.core.oam.dev",
		"CustomResourceDefinition traitdefinitions.core.oam.dev",
		"CustomResourceDefinition metrictemplates.standard.oam.dev",
		"CustomResourceDefinition rollouttraits.standard.oam.dev",
		"ServiceAccount slipway-system/slipway-manager",
		"ClusterRole slipway-manager",
		"Role slipway-system/slipway-manager",
		"ClusterRoleBinding slipway-manager",
		"RoleBinding slipway-system/slipway-manager",
		"Deployment slipway-system/slipway-manager",
		"PodDisruptionBudget slipway-system/slipway-manager",
		"ValidatingAdmissionPolicy slipway-delete-protection",
		"ValidatingAdmissionPolicyBinding slipway-delete-protection",
		"ValidatingAdmissionPolicy slipway-rollout-deletion",
		"ValidatingAdmissionPolicyBinding slipway-rollout-deletion",
	}
	if diff := cmp.Diff(want, names(first)); diff != "" {
		t.Errorf("installed in this order (-want +got):\n%s", diff)
	}

	// The server changes the status of some objects by itself, but a spec only for us: then generation grows.
	generations := func(objects []*unstructured.Unstructured) map[string]int64 {
		all := map[string]int64{}
		for i, name := range names(objects) {
			all[name] = objects[i].GetGeneration()
		}
		return all
	}
	if diff := cmp.Diff(generations(first), generations(install(t, c))); diff != "" {
		t.Errorf("generations after installing again (-first +second):\n%s", diff)
	}
}

func TestEveryCRDIsInstalled(t *testing.T) {
	installed := map[string]bool{}
	for _, object := range manifest(t, "config/install.yaml") {
		installed[object.GetName()] = installed[object.GetName()] || object.GetKind() == "CustomResourceDefinition"
	}
	files, err := filepath.Glob(filepath.Join(root(t), "config/crd/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d CRDs in config/crd: %v", len(files), err)
	}
	for _, file := range files {
		for _, object := range manifest(t, filepath.Join("config/crd", filepath.Base(file))) {
			if object.GetKind() == "CustomResourceDefinition" && !installed[object.GetName()] {
				t.Errorf("%s of %s is not in config/install.yaml: name it in config/crd/kustomization.yaml", object.GetName(), file)
			}
		}
	}
}

func TestTheServerTakesTheSamples(t *testing.T) {
	c := newClient(t)
	waitForCRDs(t, c)
	files, err := filepath.Glob(filepath.Join(root(t), "config/samples/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d samples: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, object := range manifest(t, filepath.Join("config/samples", filepath.Base(file))) {
				object.SetNamespace("default")
				err := c.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
				if err != nil {
					t.Errorf("creating %s: %v", object.GetName(), err)
				}
			}
		})
	}
}

func TestTheManagersPodsAreAllowedInItsNamespace(t *testing.T) {
	c := newClient(t)
	install(t, c)
	deployment := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "slipway-manager"}, deployment); err != nil {
		t.Fatal(err)
	}
	if got := *deployment.Spec.Replicas; got != 2 {
		t.Errorf("the Deployment has %d replicas, want 2", got)
	}
	pod := func() *corev1.Pod {
		template := deployment.Spec.Template.DeepCopy()
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "try", Labels: template.Labels},
			Spec:       template.Spec,
		}
	}

	loose := pod()
	loose.Spec.SecurityContext, loose.Spec.Containers[0].SecurityContext = nil, nil
	eventually(t, "the namespace refuses a pod without restrictions", func() error {
		err := c.Create(t.Context(), loose.DeepCopy(), client.DryRunAll)
		if !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("it was not refused"), err)
		}
		return nil
	})
	if err := c.Create(t.Context(), pod(), client.DryRunAll); err != nil {
		t.Errorf("a pod of the Deployment is refused: %v", err)
	}
}

// install applies the manifest as kubectl apply --server-side does, in order, and returns what the server answered.
func install(t *testing.T, c client.Client) []*unstructured.Unstructured {
	t.Helper()
	objects := manifest(t, "config/install.yaml")
	for _, object := range objects {
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("install-test"), client.ForceOwnership)
		if err != nil {
			t.Fatalf("applying %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	return objects
}

// manifest reads the objects of a file of the repository.
func manifest(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := shipped.Read(filepath.Join(root(t), path))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func names(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, object := range objects {
		name := object.GetName()
		if object.GetNamespace() != "" {
			name = object.GetNamespace() + "/" + name
		}
		all = append(all, object.GetKind()+" "+name)
	}
	return all
}

// waitForCRDs waits until the server serves every CRD, by its own word.
func waitForCRDs(t *testing.T, c client.Client) {
	t.Helper()
	eventually(t, "CRDs are established", func() error {
		crds := &apiextensionsv1.CustomResourceDefinitionList{}
		if err := c.List(t.Context(), crds); err != nil {
			return err
		}
		if len(crds.Items) == 0 {
			return errors.New("there is none")
		}
		for _, crd := range crds.Items {
			established := false
			for _, condition := range crd.Status.Conditions {
				established = established || condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue
			}
			if !established {
				return errors.New(crd.Name + " is not")
			}
		}
		return c.List(t.Context(), &kruisev1alpha1.CloneSetList{})
	})
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := plane.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func newClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), cafev1alpha1.AddToScheme(scheme), kruisev1alpha1.AddToScheme(scheme), kruisev1beta1.AddToScheme(scheme),
		rolloutv1alpha1.AddToScheme(scheme), oamv1beta1.AddToScheme(scheme))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually asks until it holds. Its deadline is not part of what is tested, it only ends a test that has failed.
func eventually(t *testing.T, what string, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited until %s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
