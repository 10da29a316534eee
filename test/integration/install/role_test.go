// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

const manager = "system:serviceaccount:" + namespace + ":slipway-manager"

var managersGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}

func TestTheRoleAllowsNoMoreThanTheWork(t *testing.T) {
	c := newClient(t)
	install(t, c)
	tests := map[string]struct {
		verb, group, resource, subresource, namespace, name string
		want                                                bool
	}{
		"pods are its work":                          {verb: "create", resource: "pods", namespace: "default", want: true},
		"it patches the status of pods":              {verb: "patch", resource: "pods", subresource: "status", namespace: "default", want: true},
		"it resizes pods":                            {verb: "patch", resource: "pods", subresource: "resize", namespace: "default", want: true},
		"it patches the status of sets":              {verb: "patch", group: "apps.kruise.io", resource: "clonesets", subresource: "status", namespace: "default", want: true},
		"also of sets in units":                      {verb: "patch", group: "apps.cafe.cloud.alipay.com", resource: "inplacesets", subresource: "status", namespace: "default", want: true},
		"it tells about sets":                        {verb: "create", group: "events.k8s.io", resource: "events", namespace: "default", want: true},
		"its own lease is its own":                   {verb: "update", group: "coordination.k8s.io", resource: "leases", namespace: namespace, name: "slipway-manager", want: true},
		"another lease is not":                       {verb: "update", group: "coordination.k8s.io", resource: "leases", namespace: namespace, name: "other"},
		"a lease elsewhere is not":                   {verb: "create", group: "coordination.k8s.io", resource: "leases", namespace: "kube-system"},
		"it never changes what a set is meant to be": {verb: "update", group: "apps.kruise.io", resource: "clonesets", namespace: "default"},
		"it makes the sets of units":                 {verb: "create", group: "apps.kruise.io", resource: "clonesets", namespace: "default", want: true},
		"and what applications deploy":               {verb: "create", group: "apps.cafe.cloud.alipay.com", resource: "cafedeployments", namespace: "default", want: true},
		"but no application":                         {verb: "create", group: "core.oam.dev", resource: "applications", namespace: "default"},
		"and no definition":                          {verb: "patch", group: "core.oam.dev", resource: "componentdefinitions", namespace: namespace},
		"it runs nothing in a pod":                   {verb: "create", resource: "pods", subresource: "exec", namespace: "default"},
		"it reads no secret":                         {verb: "get", resource: "secrets", namespace: namespace},
		"it changes no node":                         {verb: "patch", resource: "nodes", name: "a"},
		"it gives itself no rights":                  {verb: "create", group: "rbac.authorization.k8s.io", resource: "clusterrolebindings"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:   manager,
				Groups: managersGroups,
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: test.verb, Group: test.group, Resource: test.resource, Subresource: test.subresource,
					Namespace: test.namespace, Name: test.name,
				},
			}}
			ask := func() error {
				if err := c.Create(t.Context(), review); err != nil {
					t.Fatal(err)
				}
				if review.Status.Allowed != test.want {
					return fmt.Errorf("allowed is %v, want %v (%s)", review.Status.Allowed, test.want, review.Status.Reason)
				}
				return nil
			}
			if !test.want {
				if err := ask(); err != nil {
					t.Error(err)
				}
				return
			}
			eventually(t, "the server knows the role", ask) // it learns of new roles by a watch of its own
		})
	}
}

// The role is enough: a manager that has nothing else leads, creates, updates in place, removes, tells, and steps down.
func TestAManagerWithThisRoleDoesItsWork(t *testing.T) {
	c := newClient(t)
	install(t, c)
	waitForCRDs(t, c)
	m := startManager(t)
	eventually(t, "the manager is ready", m.ready)
	eventually(t, "the manager leads", func() error { return m.leads(t, c, true) })

	set := sample(t)
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	eventually(t, "two pods are ready", func() error { return playNode(t, c, set, 2) })

	edit(t, c, set, func() { set.Spec.Template.Spec.Containers[0].Image = "web:v2" })
	eventually(t, "both have the new image and the set says so", func() error {
		if err := playNode(t, c, set, 2); err != nil {
			return err
		}
		return updated(t, c, set, 2)
	})

	edit(t, c, set, func() { set.Spec.Replicas = ptr.To[int32](1) })
	eventually(t, "one is left", func() error { return playNode(t, c, set, 1) })

	m.stop(t)
	if err := m.leads(t, c, false); err != nil {
		t.Errorf("the manager ended in order, but its lease was not given back: %v", err)
	}
	if log := m.log.String(); strings.Contains(log, "forbidden") {
		t.Errorf("the role is too small:\n%s", log)
	}
}

func sample(t *testing.T) *kruisev1alpha1.CloneSet {
	t.Helper()
	labels := map[string]string{"app": "role"}
	return &kruisev1alpha1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "role"},
		Spec: kruisev1alpha1.CloneSetSpec{
			Replicas: ptr.To[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{NodeName: "played-here", Containers: []corev1.Container{{Name: "web", Image: "web:v1"}}},
			},
			UpdateStrategy: kruisev1alpha1.CloneSetUpdateStrategy{Type: kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType},
		},
	}
}

func edit(t *testing.T, c client.Client, set client.Object, change func()) {
	t.Helper()
	eventually(t, "the edit is taken", func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		change()
		return c.Update(t.Context(), set)
	})
}

// process is a running manager, as the service account of the manifest.
type process struct {
	command *exec.Cmd
	health  string
	log     *lockedBuffer
	ended   chan error
}

func startManager(t *testing.T) *process {
	t.Helper()
	return startManagerOf(t, cluster.Host)
}

// startManagerOf starts a manager that reaches the API server at an address, with further flags.
func startManagerOf(t *testing.T, server string, flags ...string) *process {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "slipway-manager")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "slipway.dev/slipway/cmd/slipway-manager").CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, out)
	}
	p := &process{health: freeAddress(t), log: &lockedBuffer{}, ended: make(chan error, 1)}
	p.command = exec.Command(binary, append(flags,
		"--kubeconfig="+kubeconfigOfManager(t, dir, server), "--health-probe-bind-address="+p.health, "--metrics-bind-address=0")...)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.command.Wait() }()
	t.Cleanup(func() {
		_ = p.command.Process.Kill() // an error means that it has ended
		if t.Failed() {
			t.Logf("the manager's log:\n%s", p.log.String())
		}
	})
	return p
}

func (p *process) ready() error {
	response, err := http.Get("http://" + p.health + "/readyz")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New("/readyz says " + response.Status)
	}
	return nil
}

func (p *process) leads(t *testing.T, c client.Client, want bool) error {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "slipway-manager"}, lease); err != nil {
		return err
	}
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); (holder != "") != want {
		return fmt.Errorf("the lease is held by %q", holder)
	}
	return nil
}

func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-p.ended; err != nil {
		t.Errorf("the manager ended with %v", err)
	}
}

// kubeconfigOfManager lets the administrator of the plane act as the manager's service account.
func kubeconfigOfManager(t *testing.T, dir, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["plane"] = &clientcmdapi.Cluster{Server: server}
	if strings.HasPrefix(server, "https:") {
		config.Clusters["plane"].CertificateAuthorityData = cluster.CAData
	}
	config.AuthInfos["manager"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cluster.CertData, ClientKeyData: cluster.KeyData,
		Impersonate: manager, ImpersonateGroups: managersGroups,
	}
	config.Contexts["plane"] = &clientcmdapi.Context{Cluster: "plane", AuthInfo: "manager"}
	config.CurrentContext = "plane"
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the kubeconfig holds a key: %v, %v", info, err)
	}
	return file
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
